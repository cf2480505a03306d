import { type FolderId } from '#manager/contract'

/** Type of the data of a drag of files within the console. Other pages see a type of ours, and no file. */
const TYPE = 'application/x-berth-files'

export interface DraggedFiles {
  readonly folderId: FolderId
  readonly paths: readonly string[]
}

export function putDrag(event: DragEvent, files: DraggedFiles): void {
  event.dataTransfer?.setData(TYPE, JSON.stringify(files))
  if (event.dataTransfer) event.dataTransfer.effectAllowed = 'copyMove'
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
