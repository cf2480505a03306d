/** Limit of file systems for a name, in bytes. */
const LONGEST_NAME = 255

/** Largest number of paths in one request to move, copy or delete files. */
export const MOST_PATHS = 1_000
/** Largest number of path components of a request, such as 50 in each of 1,000 paths. Each component is opened separately. */
export const MOST_PATH_PARTS = 50_000
/** Largest number of directories in one request for the event stream: pages show them, and want hints about changes by sessions. */
export const MOST_SHOWN_DIRECTORIES = 16

/** A byte of a name that is not valid UTF-8. */
const ESCAPED_BYTE = /[\uef80-\uefff]/g

/** Whether a path names something in a folder: relative, without `.` and `..`, each part with 1 to 255 bytes. */
export function isFilePath(path: string): boolean {
  return path.isWellFormed() && path.split('/').every(isFileName)
}

function isFileName(name: string): boolean {
  if (name === '' || name === '.' || name === '..' || name.includes('\0')) return false
  return utf8Length(name.replace(ESCAPED_BYTE, '_')) <= LONGEST_NAME
}

/** Length of a text in UTF-8. */
export function utf8Length(text: string): number {
  let bytes = 0
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
  }
  return bytes
}

export function countParts(path: string): number {
  return path.split('/').length
}

/** The first paths, as many as one request may name; at least one. */
export function firstForRequest(paths: readonly string[]): readonly string[] {
  let [count, parts] = [0, 0]
  for (const path of paths.slice(0, MOST_PATHS)) {
    parts += countParts(path)
    if (count > 0 && parts > MOST_PATH_PARTS) break
    count++
  }
  return paths.slice(0, count)
}

/** All paths, divided among as many requests as needed. */
export function* inRequests(paths: readonly string[]): Generator<readonly string[], void, undefined> {
  for (let rest = paths; rest.length > 0;) {
    const some = firstForRequest(rest)
    yield some
    rest = rest.slice(some.length)
  }
}

/** A name for people: escaped bytes and control characters become visible signs. */
export function shownFileName(name: string): string {
  return name
    .replace(ESCAPED_BYTE, '\ufffd')
    .replace(/[\u0000-\u001f]/g, char => String.fromCharCode(0x2400 + char.charCodeAt(0)))
    .replace(/[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd')
}

/** Address of the bytes of a file, below the address of the manager. */
export function fileContentAddress(folderId: string, path: string, download = false): string {
  const query = `path=${encodeURIComponent(path.toWellFormed())}${download ? '&download=1' : ''}`
  return `/api/v1/folders/${encodeURIComponent(folderId)}/content?${query}`
}

/** Address of a ZIP file of these files and directories, below the address of the manager. */
export function fileArchiveAddress(folderId: string, paths: readonly string[]): string {
  const query = paths.map(path => `path=${encodeURIComponent(path.toWellFormed())}`).join('&')
  return `/api/v1/folders/${encodeURIComponent(folderId)}/archive?${query}`
}
