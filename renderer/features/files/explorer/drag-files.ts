import { fileContentAddress, type FolderId, shownFileName } from '#manager/contract'
import { type Entry } from '../../../data/files/files-client.ts'
import { randomId } from '../../../api/random-id.ts'

/** Type of the data of a drag of files within the console. Other pages see it and an address (`downloadOf`), and can read no file. */
const TYPE = 'application/x-berth-files'
/**
 * Key of the mark of the present drag. Threat model: any page can begin a drag with data of this type, which would copy files of its choice
 * to where the person drops it. The storage of an origin is closed to pages of others, so the mark shows that the drag began in the console.
 * A page on which a drag ends sees its mark, so the mark ends with the drag.
 */
const MARK = 'berth.drag'

export interface DraggedFiles {
  readonly folderId: FolderId
  readonly paths: readonly string[]
}

/** @param file the one file that is dragged; undefined for a directory, and for several files */
export function putDrag({ dataTransfer }: DragEvent, files: DraggedFiles, file?: Entry): void {
  if (!dataTransfer) return
  const mark = randomId()
  localStorage.setItem(MARK, mark)
  dataTransfer.setData(TYPE, JSON.stringify({ ...files, mark }))
  const [path] = files.paths
  if (file?.kind === 'file' && path !== undefined && files.paths.length === 1)
    dataTransfer.setData('DownloadURL', downloadOf(file.name, files.folderId, path, location.href))
  dataTransfer.effectAllowed = 'copyMove'
}

/** Call when a drag that began in this page has ended. */
export const endDrag = (): void => localStorage.removeItem(MARK)

/**
 * Data of a drag for Chromium on Windows and macOS, `TYPE:NAME:ADDRESS`: the program on which the file is dropped, e.g. the desktop, gets a
 * file that Chromium then downloads with the sign-in of this page. Other browsers and systems ignore it.
 */
export function downloadOf(name: string, folderId: FolderId, path: string, page: string): string {
  // Then the name contains neither separators of this text nor directory separators of the user's computer.
  const plainName = shownFileName(name).replace(/[:\\/]/g, '_')
  const address = new URL(fileContentAddress(folderId, path, true), page)
  return `application/octet-stream:${plainName}:${address.href}`
}

/** True for files of the console and for files of the user's computer; texts and links are refused. */
export function acceptsDrop({ dataTransfer }: DragEvent): boolean {
  return dataTransfer !== null && (dataTransfer.types.includes(TYPE) || dataTransfer.types.includes('Files'))
}

/** Reads what was dragged within the console; undefined for files of the computer, and for data that another page forged. */
export function readDrag({ dataTransfer }: DragEvent): DraggedFiles | undefined {
  const text = dataTransfer?.getData(TYPE)
  if (!text) return undefined
  try {
    const { folderId, paths, mark } = JSON.parse(text) as Partial<DraggedFiles> & { readonly mark?: unknown }
    const isSound =
      typeof mark === 'string' &&
      mark === localStorage.getItem(MARK) &&
      typeof folderId === 'string' &&
      Array.isArray(paths) &&
      paths.every(path => typeof path === 'string')
    return isSound ? { folderId, paths } : undefined
  } catch {
    return undefined
  }
}
