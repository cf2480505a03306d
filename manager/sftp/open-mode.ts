import { OPEN } from './protocol.ts'

/** Access that a client asks for when it opens a file, and what the opening itself does. */
export interface OpenMode {
  readonly mayRead: boolean
  readonly mayWrite: boolean
  /** Writes go to the end, wherever the client wants them. */
  readonly appends: boolean
  readonly truncates: boolean
  /** Whether the file is made; `new`: refused if it is there. */
  readonly makes: 'never' | 'missing' | 'new'
}

/** Reads the flags of an `open`. A file that is opened for neither reading nor writing is read; only one that is written is made or emptied. */
export function openModeOf(flags: number): OpenMode {
  const has = (flag: number) => (flags & flag) !== 0
  const appends = has(OPEN.append)
  const mayWrite = has(OPEN.write) || appends
  return {
    mayRead: has(OPEN.read) || !mayWrite,
    mayWrite,
    appends,
    truncates: mayWrite && has(OPEN.truncate),
    makes: !mayWrite || !has(OPEN.create) ? 'never' : has(OPEN.exclusive) ? 'new' : 'missing',
  }
}
