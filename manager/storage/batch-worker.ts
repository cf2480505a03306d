import { createHash, hash, type Hash } from 'node:crypto'
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  futimesSync,
  linkSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { constants as system, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { crc32 } from 'node:zlib'
import { type BatchJobs, type BatchKind, type FileRead, type NewFile } from './batch-jobs.ts'
import { below, openAt, orUndefined, stateAt } from './batch-paths.ts'
import { type FileState, stateOf } from './file-state.ts'

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = constants
/** The same as in `beneath.ts`. */
const O_PATH = 0o10_000_000

// On Linux each thread has its own priority; elsewhere this would change that of the process.
if (process.platform === 'linux' && (workerData as { isPatient: boolean }).isPatient) {
  setPriority(system.priority.PRIORITY_BELOW_NORMAL)
}

/** Checksums in progress, by the name that their owner gave them. */
const hashes = new Map<string, Hash>()

/**
 * The thread that works on many entries of a directory. Calls and threat model are those of `beneath.ts`: each name is opened relative to a
 * descriptor, which the main thread holds until the reply has arrived, and no link is followed. The main thread repeats each failed call
 * separately to get its error.
 */
const jobs: {
  readonly [K in BatchKind]: (request: BatchJobs[K]['request']) => BatchJobs[K]['reply']
} = {
  write: ({ directory, files, bytes }) => files.map(file => write(directory, file, new Uint8Array(bytes))),

  move: ({ from, to, moves }) =>
    moves.map(({ name, toName, replace }) =>
      succeeds(() => {
        if (replace) {
          renameSync(below(from, name), below(to, toName))
          return
        }
        linkSync(below(from, name), below(to, toName))
        // The file is in its place; if this fails, its temporary name is removed with the other leftovers.
        succeeds(() => unlinkSync(below(from, name)))
      }),
    ),

  read({ directory, top, names, largest, most }) {
    const owner = fstatSync(top).uid
    const files: (FileRead | undefined)[] = []
    const parts: Buffer[] = []
    let offset = 0
    for (const name of names) {
      if (offset >= most) break
      const found = orUndefined(() => read(below(directory, name), { owner, largest }))
      files.push(found && { state: found.state, offset, size: found.bytes.length })
      if (!found) continue
      parts.push(found.bytes)
      offset += found.bytes.length
    }
    const bytes = new Uint8Array(offset)
    let at = 0
    for (const part of parts) {
      bytes.set(part, at)
      at += part.length
    }
    return { files, bytes: bytes.buffer }
  },

  crc: ({ bytes, length, before }) => ({ crc: crc32(new Uint8Array(bytes, 0, length), before), bytes }),

  hash({ id, bytes, length }) {
    let found = hashes.get(id)
    if (!found) hashes.set(id, (found = createHash('sha256')))
    found.update(new Uint8Array(bytes, 0, length))
    return { bytes }
  },

  digest({ id }) {
    const found = hashes.get(id) ?? createHash('sha256')
    hashes.delete(id)
    return found.digest('hex')
  },

  states: ({ directory, names }) =>
    names.map(name => orUndefined(() => stateOf(lstatSync(below(directory, name), { bigint: true })))),

  stateAt,
  openAt,
}

function write(directory: number, file: NewFile, all: Uint8Array): boolean | 'damaged' {
  const { name, offset, size, sha256, owner, modifiedAt, mode } = file
  const bytes = all.subarray(offset, offset + size)
  if (hash('sha256', bytes, 'hex') !== sha256) return 'damaged'
  const path = below(directory, name)
  return succeeds(() => {
    const made = openSync(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    try {
      try {
        for (let at = 0; at < size;) at += writeSync(made, bytes, at, size - at, at)
        if (owner) fchownSync(made, owner.uid, owner.gid)
        fchmodSync(made, mode)
        if (modifiedAt) futimesSync(made, modifiedAt, modifiedAt)
      } finally {
        closeSync(made)
      }
    } catch (error) {
      unlinkSync(path)
      throw error
    }
  })
}

/** @throws Error unless this is a regular file up to that size whose names are all in the folder */
function read(
  path: Buffer,
  { owner, largest }: { owner: number; largest: number },
): { state: FileState; bytes: Buffer } {
  const found = openSync(path, O_PATH | O_NOFOLLOW)
  try {
    const { kind, links, uid } = stateOf(fstatSync(found, { bigint: true }))
    if (kind !== 'file' || (links > 1 && uid !== owner)) throw new Error('not to be opened')
    const file = openSync(`/proc/self/fd/${found}`, O_RDONLY | O_NONBLOCK)
    try {
      const state = stateOf(fstatSync(file, { bigint: true }))
      if (state.size > largest) throw new Error('too large')
      const bytes = Buffer.allocUnsafe(state.size)
      let size = 0
      while (size < state.size) {
        const count = readSync(file, bytes, size, state.size - size, size)
        if (count === 0) break
        size += count
      }
      return { state, bytes: bytes.subarray(0, size) }
    } finally {
      closeSync(file)
    }
  } finally {
    closeSync(found)
  }
}

function succeeds(work: () => unknown): boolean {
  return orUndefined(() => [work()]) !== undefined
}

function reply<K extends BatchKind>({ kind, request }: { kind: K; request: BatchJobs[K]['request'] }) {
  const result = jobs[kind](request)
  const moved = typeof result === 'object' && 'bytes' in result ? [result.bytes] : []
  parentPort?.postMessage(result, moved)
}
parentPort?.on('message', reply)
