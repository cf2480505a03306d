import { open } from 'node:fs/promises'

/** Part of the list that is read: some 15,000 sockets. The kernel's order is that of a hash. */
const MOST_BYTES = 2 ** 20
const CHUNK = 64 * 1024

/**
 * Unix sockets of a container that no descriptor leads to: each is on its way from one process to another itself. Programs do not leave
 * one there for long.
 *
 * @param pid main process, for its network namespace, which the container has alone
 * @param held inodes of the sockets that its processes have open; sockets that are opened after that look are not counted twice in a row
 * @returns inodes
 */
export async function hiddenSockets(pid: number, held: ReadonlySet<string>): Promise<Set<string>> {
  try {
    await using file = await open(`/proc/${pid}/net/unix`)
    const buffer = Buffer.allocUnsafe(CHUNK)
    let text = ''
    while (text.length < MOST_BYTES) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK, null)
      if (bytesRead === 0) break
      text += buffer.toString('latin1', 0, bytesRead)
    }
    return new Set(inodesOf(text).filter(inode => !held.has(inode)))
  } catch {
    return new Set() // the container has ended
  }
}

/** Inodes in the text of /proc/net/unix. A connection that waits to be accepted has none, and counts with its listener. @see unix(7) */
export function inodesOf(text: string): string[] {
  // The last line may be cut.
  return text
    .split('\n')
    .slice(1, -1)
    .flatMap(line => /^\S+ \S+ \S+ \S+ \S+ \S+ +([1-9]\d*)/.exec(line)?.[1] ?? [])
}
