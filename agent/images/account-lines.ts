/** A line of passwd(5), without its password. */
export interface ImageAccount {
  readonly name: string
  readonly uid: number
  readonly gid: number
  readonly comment: string
  readonly home: string
  readonly shell: string
}

/** A line of group(5), without its password. */
export interface ImageGroup {
  readonly name: string
  readonly gid: number
  readonly members: readonly string[]
}

export interface Lines<T> {
  readonly found: readonly T[]
  /** Lines that are no account or group, or too many, or too long. */
  readonly leftOut: number
}

const MOST_ENTRIES = 1000
const MOST_LINE_CHARACTERS = 1024
/** Names that `useradd` of the usual distributions can create, even with relaxed checks. */
const NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,31}\$?$/
/** The largest is -1, which means "no id" to system calls. */
const MOST_ID = 2 ** 32 - 2
/** A control character, or the replacement for invalid UTF-8: the rest of such a path would be a different path. */
const DAMAGED = /[\p{Cc}\uFFFD]/u

/** @param text of /etc/passwd of an image, which anybody may have made */
export function readAccountLines(text: string): Lines<ImageAccount> {
  return readLines(text, ([name = '', , uid, gid, comment = '', home = '', shell = '', ...more]) => {
    const ids = { uid: idOf(uid), gid: idOf(gid) }
    if (!NAME.test(name) || ids.uid === undefined || ids.gid === undefined || more.length > 0) return undefined
    return { name, uid: ids.uid, gid: ids.gid, comment, home, shell }
  })
}

/** @param text of /etc/group of an image, which anybody may have made */
export function readGroupLines(text: string): Lines<ImageGroup> {
  return readLines(text, ([name = '', , id, members = '', ...more]) => {
    const gid = idOf(id)
    if (!NAME.test(name) || gid === undefined || more.length > 0) return undefined
    return { name, gid, members: members.split(',').filter(member => NAME.test(member)) }
  })
}

/** For lines with the same name, the first counts, as in the C library. */
function readLines<T extends { readonly name: string }>(
  text: string,
  read: (fields: readonly string[]) => T | undefined,
): Lines<T> {
  const byName = new Map<string, T>()
  let leftOut = 0
  for (const line of text.split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const isFit = line.length <= MOST_LINE_CHARACTERS && !DAMAGED.test(line) && byName.size < MOST_ENTRIES
    const entry = isFit ? read(line.split(':')) : undefined
    if (!entry || byName.has(entry.name)) leftOut++
    else byName.set(entry.name, entry)
  }
  return { found: [...byName.values()], leftOut }
}

function idOf(text: string | undefined): number | undefined {
  const id = /^\d{1,10}$/.test(text ?? '') ? Number(text) : MOST_ID + 1
  return id <= MOST_ID ? id : undefined
}
