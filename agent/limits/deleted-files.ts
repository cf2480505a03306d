import { opendirSync, readlinkSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { descriptorsOf, shuffled } from './container-processes.ts'
import { type Amount } from './disk-rules.ts'

/** Descriptors and mappings of one session whose links are read in one look. */
const MOST_LINKS = 50_000
/** Deleted files of one session that are asked for their size in one look. */
const MOST_FILES = 5_000
/** A look ends after this time, with what it has found. */
const MOST_MS = 2_000
/** Links before the agent's other work gets its turn. */
const SLICE = 200
/** How the kernel ends the target of a link to a file without a name. @see proc_pid_fd(5) */
const DELETED = ' (deleted)'

/**
 * Space held by files that have no name any more but are open or mapped, by the device number that stat(2) shows for them. `du` does not
 * see them. The work is bounded, because the session is hostile; processes are read in random order.
 *
 * Not seen: files that are only in flight over a Unix socket, or held by an io_uring. `hiddenFiller` finds who wrote them.
 */
export async function deletedUse(pids: readonly number[]): Promise<ReadonlyMap<number, Amount>> {
  const uses = new Map<number, Amount>()
  const seen = new Set<string>()
  const until = performance.now() + MOST_MS
  let [links, files] = [0, 0]
  for (const pid of shuffled(pids)) {
    for (const path of linksOf(pid)) {
      if (++links > MOST_LINKS || files >= MOST_FILES || performance.now() > until) return uses
      if (links % SLICE === 0) await setImmediate()
      if (!isDeleted(path)) continue
      files += 1
      const found = await stat(path).catch(() => undefined)
      if (found?.nlink !== 0) continue
      const id = `${found.dev}:${found.ino}`
      if (seen.has(id)) continue
      seen.add(id)
      const before = uses.get(found.dev) ?? { bytes: 0, inodes: 0 }
      uses.set(found.dev, { bytes: before.bytes + found.blocks * 512, inodes: before.inodes + 1 })
    }
  }
  return uses
}

function* linksOf(pid: number): Generator<string> {
  yield* descriptorsOf(pid)
  const path = `/proc/${pid}/map_files`
  try {
    using directory = opendirSync(path)
    for (let entry = directory.readSync(); entry; entry = directory.readSync()) yield `${path}/${entry.name}`
  } catch {
    // The process has ended, or this agent may not read its mappings.
  }
}

/** Reads only the link: the file itself may be on a share that does not answer. */
function isDeleted(path: string): boolean {
  try {
    return readlinkSync(path).endsWith(DELETED)
  } catch {
    return false // closed in the meantime
  }
}
