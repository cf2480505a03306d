import { OPEN } from './protocol.ts'

/** Access that a client requests when it opens a file, and the effects of opening. */
export interface OpenMode {
  readonly mayRead: boolean
  readonly mayWrite: boolean
  /** True if writes go to the end, whatever offset the client gives. */
  readonly appends: boolean
  readonly truncates: boolean
  /** Whether the file is created; `new`: refused if it exists. */
  readonly makes: 'never' | 'missing' | 'new'
}

/**
 * Parses the flags of an `open`. Without read and write flags, the file is opened for reading; only a file opened for writing is created or
 * truncated.
 */
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
