import { closeSync, constants, fchmodSync, fchownSync, fstatSync, lstatSync, openSync, unlinkSync } from 'node:fs'
import { type BatchJobs, type FileOpened, type FileToMake, type PathBelow } from './batch-jobs.ts'
import { stateOf } from './file-state.ts'

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = constants
/** The same as in `directory-calls.ts`. */
const O_PATH = 0o10_000_000

export const below = (directory: number, name: string) => Buffer.from(`/proc/self/fd/${directory}/${name}`, 'latin1')

/**
 * Jobs on the entry of a path, by the calls of `beneath.ts`: its directories are entered one after the other, and no link is followed. A
 * failure other than a missing entry is undefined.
 */
export function stateAt(path: PathBelow): BatchJobs['stateAt']['reply'] {
  return unlessMissing(() =>
    inDirectory(path, directory => stateOf(lstatSync(below(directory, path.name), { bigint: true }))),
  )
}

export function openAt({ top, access, make, ...path }: BatchJobs['openAt']['request']): BatchJobs['openAt']['reply'] {
  return unlessMissing(() =>
    inDirectory(path, directory => {
      const at = below(directory, path.name)
      // First as a new one: most files that a client creates are.
      const made = make && createAt(at, top, make)
      return made ?? (make?.isOnly === true ? undefined : openThere(at, top, access))
    }),
  )
}

/** Runs work in the directory of a path. */
function inDirectory<T>({ from, directories }: PathBelow, work: (directory: number) => T): T | undefined {
  let here = from
  const leave = () => {
    if (here !== from) closeSync(here)
  }
  try {
    for (const name of directories) {
      const next = orUndefined(() => openSync(below(here, name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
      if (next === undefined) return undefined
      leave()
      here = next
    }
    return work(here)
  } finally {
    leave()
  }
}

/** @returns undefined if the name is taken @throws Error, without a file left behind */
function createAt(path: Buffer, top: number, { mode, givesAway }: FileToMake): FileOpened | undefined {
  let fd: number
  try {
    fd = openSync(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return undefined
    throw error
  }
  return orClosed(fd, () => {
    try {
      // The descriptor refers to the new file, even if a session has replaced the name since.
      const { uid, gid } = fstatSync(top)
      if (givesAway && uid !== 0) fchownSync(fd, uid, gid)
      fchmodSync(fd, mode)
      return { fd, state: stateOf(fstatSync(fd, { bigint: true })), isNew: true }
    } catch (error) {
      unlinkSync(path)
      throw error
    }
  })
}

/** @throws Error unless it is a regular file whose names are all in the folder */
function openThere(path: Buffer, top: number, access: 'read' | 'write'): FileOpened {
  // The kind is checked on a descriptor that cannot read; the file is then opened through that descriptor.
  const found = openSync(path, O_PATH | O_NOFOLLOW)
  try {
    const state = stateOf(fstatSync(found, { bigint: true }))
    if (state.kind !== 'file' || (state.links > 1 && state.uid !== fstatSync(top).uid))
      throw new Error('not to be opened')
    const flags = (access === 'read' ? O_RDONLY : O_RDWR) | O_NONBLOCK
    return { fd: openSync(`/proc/self/fd/${found}`, flags), state, isNew: false }
  } finally {
    closeSync(found)
  }
}

function orClosed<T>(fd: number, work: () => T): T {
  try {
    return work()
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

function unlessMissing<T>(work: () => T | undefined): T | 'missing' | undefined {
  try {
    return work()
  } catch (error) {
    return isErrno(error, 'ENOENT') ? 'missing' : undefined
  }
}

export function orUndefined<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

const isErrno = (error: unknown, errno: string) => error instanceof Error && 'code' in error && error.code === errno
