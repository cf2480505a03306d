import { readlinkSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { readKernelText } from '../read-kernel-text.ts'
import { descriptorsOf, shuffled } from './container-processes.ts'
import { type Counts } from './user-limits-rules.ts'

/** Counts of what descriptors show. */
export type DescriptorCounts = Omit<Counts, 'signals'>

export interface DescriptorUse {
  /** By process; those that hold nothing are left out. */
  readonly counts: ReadonlyMap<number, DescriptorCounts>
  /** Inodes of the sockets of all processes. */
  readonly sockets: ReadonlySet<string>
}

/** Descriptors of one session whose links are read in one look. */
const MOST_DESCRIPTORS = 50_000
/** Calls before the agent's other work gets its turn. */
const SLICE = 200
/** Work of one look at the contents of each kind, for one session: a line costs one, a file as much as so many lines. */
const MOST_WORK = 200_000
const FILE = 20

const KINDS = { inotify: 'anon_inode:inotify', epoll: 'anon_inode:[eventpoll]' } as const
type Kind = keyof typeof KINDS | 'socket'

/** A descriptor whose contents count. */
interface Found {
  readonly pid: number
  /** File in fdinfo. */
  readonly path: string
}

/**
 * Counts what the processes of a session hold of what the kernel counts per user.
 *
 * The work is bounded, because the session is hostile: links are read up to a number, in random order of the processes, and contents up
 * to an amount of work, in random order of the descriptors. What was not read counts as much as the average of what was read.
 *
 * Links and short files are read synchronously: the kernel answers from memory, and the thread pool costs several times as much.
 *
 * @see proc_pid_fdinfo(5)
 */
export async function descriptorUse(pids: readonly number[]): Promise<DescriptorUse> {
  const { found, sockets } = await listDescriptors(pids)
  const [watches, epollWatches, inFlight] = [
    await countAll(found.inotify, path => countLines(path, 'inotify wd:')),
    await countAll(found.epoll, path => countLines(path, 'tfd:')),
    await countAll(found.socket, path => Promise.resolve(readInFlight(path))),
  ]
  const instances = Map.groupBy(found.inotify, ({ pid }) => pid)
  const holders = new Set([watches, epollWatches, inFlight, instances].flatMap(counts => [...counts.keys()]))
  const counts = new Map(
    [...holders].map(pid => [
      pid,
      {
        instances: instances.get(pid)?.length ?? 0,
        watches: watches.get(pid) ?? 0,
        epollWatches: epollWatches.get(pid) ?? 0,
        inFlight: inFlight.get(pid) ?? 0,
      },
    ]),
  )
  return { counts, sockets }
}

async function listDescriptors(
  pids: readonly number[],
): Promise<{ found: Record<Kind, Found[]>; sockets: Set<string> }> {
  const found: Record<Kind, Found[]> = { inotify: [], epoll: [], socket: [] }
  const sockets = new Set<string>()
  let looked = 0
  for (const pid of shuffled(pids)) {
    for (const name of descriptorsOf(pid)) {
      if (++looked > MOST_DESCRIPTORS) return { found, sockets }
      if (looked % SLICE === 0) await setImmediate()
      const { kind, inode } = kindOf(name)
      if (kind) found[kind].push({ pid, path: name.replace('/fd/', '/fdinfo/') })
      if (inode !== undefined) sockets.add(inode)
    }
  }
  return { found, sockets }
}

function kindOf(path: string): { readonly kind?: Kind; readonly inode?: string | undefined } {
  try {
    const target = readlinkSync(path)
    if (target.startsWith('socket:[')) return { kind: 'socket', inode: target.slice('socket:['.length, -1) }
    if (target === KINDS.inotify) return { kind: 'inotify' }
    return target === KINDS.epoll ? { kind: 'epoll' } : {}
  } catch {
    return {} // closed in the meantime
  }
}

/** Sums by process. A process is left out if the sum is 0. */
async function countAll(
  candidates: readonly Found[],
  count: (path: string) => Promise<number>,
): Promise<Map<number, number>> {
  const sums = new Map<number, number>()
  let [read, work] = [0, 0]
  for (const { pid, path } of shuffled(candidates)) {
    if (work > MOST_WORK) break
    if (++read % SLICE === 0) await setImmediate()
    const amount = await count(path)
    work += FILE + amount
    if (amount > 0) sums.set(pid, (sums.get(pid) ?? 0) + amount)
  }
  const all = candidates.length / Math.max(1, read)
  return new Map([...sums].map(([pid, sum]) => [pid, Math.round(sum * all)]))
}

/** Descriptors in the queue of a socket; 0 for one that is not of Unix, and before Linux 5.11, which does not tell. */
function readInFlight(path: string): number {
  return Number(/^scm_fds:\s*(\d+)/m.exec(readKernelText(path))?.[1] ?? 0)
}

const CHUNK = 64 * 1024

/**
 * Number of lines with a mark. Read in the thread pool and in parts: for 60,000 watches the kernel takes 200 ms to print the text, which
 * may have many megabytes.
 */
async function countLines(path: string, mark: string): Promise<number> {
  let count = 0
  try {
    await using file = await open(path)
    const buffer = Buffer.allocUnsafe(CHUNK + mark.length)
    /** Bytes at the beginning of the buffer that may be the first part of a mark. */
    let kept = 0
    for (;;) {
      const { bytesRead } = await file.read(buffer, kept, CHUNK, null)
      if (bytesRead === 0) return count
      const text = buffer.subarray(0, kept + bytesRead)
      for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + mark.length)) count += 1
      kept = Math.min(text.length, mark.length - 1)
      text.copyWithin(0, text.length - kept)
    }
  } catch {
    return count // closed in the meantime, or the process has ended
  }
}
