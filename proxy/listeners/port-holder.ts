import { readdir, readFile, readlink } from 'node:fs/promises'

export interface PortHolder {
  readonly pid: number
  readonly name: string
}

/**
 * The process that listens on a local TCP port. Linux only, and only for processes we may inspect; otherwise undefined, and the
 * user is told the port alone.
 */
export async function findPortHolder(port: number): Promise<PortHolder | undefined> {
  try {
    const inodes = new Set([
      ...listeningInodes(await readFile('/proc/net/tcp', 'utf8'), port),
      ...listeningInodes(await readFile('/proc/net/tcp6', 'utf8').catch(() => ''), port),
    ])
    if (inodes.size === 0) return undefined
    for (const pid of await readdir('/proc')) {
      if (!/^\d+$/.test(pid)) continue
      if (await ownsOneOf(pid, inodes)) {
        const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')
        return { pid: Number(pid), name: name.trim() }
      }
    }
  } catch {
    // There is no readable /proc here: the holder stays unknown.
  }
  return undefined
}

/** @param table text of /proc/net/tcp: `sl local_address rem_address st … inode`, addresses and ports in hex, 0A = listening */
export function listeningInodes(table: string, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return table
    .split('\n')
    .map(line => line.trim().split(/\s+/))
    .filter(columns => columns[1]?.endsWith(suffix) && columns[3] === '0A')
    .flatMap(columns => columns[9] ?? [])
}

async function ownsOneOf(pid: string, inodes: ReadonlySet<string>): Promise<boolean> {
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => [])
  const targets = await Promise.all(descriptors.map(fd => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')))
  return targets.some(target => target.startsWith('socket:[') && inodes.has(target.slice(8, -1)))
}
