import { fileContentAddress, type FolderId, shownFileName } from '#manager/contract'
import { type Entry } from '../../../data/files/files-client.ts'

/** Type of the data of a drag of files within the console. Other pages see it and an address (`downloadOf`), and can read no file. */
const TYPE = 'application/x-berth-files'

export interface DraggedFiles {
  readonly folderId: FolderId
  readonly paths: readonly string[]
}

/** @param file the one file that is dragged; undefined for a directory, and for several files */
export function putDrag({ dataTransfer }: DragEvent, files: DraggedFiles, file?: Entry): void {
  if (!dataTransfer) return
  dataTransfer.setData(TYPE, JSON.stringify(files))
  const [path] = files.paths
  if (file?.kind === 'file' && path !== undefined && files.paths.length === 1)
    dataTransfer.setData('DownloadURL', downloadOf(file.name, files.folderId, path, location.href))
  dataTransfer.effectAllowed = 'copyMove'
}

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
    const { folderId, paths } = JSON.parse(text) as Partial<DraggedFiles>
    const isSound =
      typeof folderId === 'string' && Array.isArray(paths) && paths.every(path => typeof path === 'string')
    return isSound ? { folderId, paths } : undefined
  } catch {
    return undefined
  }
}
