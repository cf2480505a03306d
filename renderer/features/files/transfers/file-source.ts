/** A file that the user chose or dropped, with its path below the destination. */
export interface FileSource {
  /** Relative to the destination, including the dropped directories. */
  readonly path: string
  /** Opens the file. Files of dropped directories are opened when their turn comes. */
  open(): Promise<File>
}

export interface DroppedFiles {
  readonly files: readonly FileSource[]
  /** Directories without files, which would otherwise not be created. */
  readonly emptyDirectories: readonly string[]
}

/** Files of an `<input type="file">`; with `webkitdirectory` they have paths. */
export function fromInput(files: Iterable<File>): FileSource[] {
  return [...files].map(file => ({
    path: file.webkitRelativePath || file.name,
    open: () => Promise.resolve(file),
  }))
}

/**
 * Reads dropped files and whole directories. Must be called within the event: the browser empties `items` after it.
 * @throws DOMException if a directory cannot be read
 */
export function fromDrop(items: DataTransferItemList): Promise<DroppedFiles> {
  const entries = [...items].flatMap(item => item.webkitGetAsEntry() ?? [])
  return readAll(entries)
}

async function readAll(entries: readonly FileSystemEntry[]): Promise<DroppedFiles> {
  const files: FileSource[] = []
  const emptyDirectories: string[] = []
  // A stack instead of recursion: a dropped tree may be deep.
  const rest = entries.toReversed()
  for (let entry = rest.pop(); entry; entry = rest.pop()) {
    const path = entry.fullPath.replace(/^\//, '')
    if (isFile(entry)) {
      const file = entry
      files.push({ path, open: () => new Promise<File>((resolve, reject) => file.file(resolve, reject)) })
    } else if (isDirectory(entry)) {
      const children = await childrenOf(entry)
      if (children.length === 0) emptyDirectories.push(path)
      rest.push(...children.toReversed())
    }
  }
  return { files, emptyDirectories }
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile
const isDirectory = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory

/** All children: browsers return some hundred at a time, and an empty list at the end. */
async function childrenOf(directory: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = directory.createReader()
  const all: FileSystemEntry[] = []
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (some.length === 0) return all
    all.push(...some)
  }
}
