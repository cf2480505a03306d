import { readFile } from 'node:fs/promises'
import { type Socket } from 'node:net'

/** The kernel's stand-in for users that the namespace of this process does not know. */
const UNKNOWN_UID = 65_534
const ESTABLISHED = '01'
/** Addresses of the table are words of four bytes, each in the order of the processor. */
const LOOPBACK_6 = '00000000000000000000000001000000'
const MAPPED = '0000000000000000FFFF0000'

/**
 * User id of the process that opened the other end of a loopback connection; null where the kernel does not tell (other systems than
 * Linux, a namespace of users). A hint for people, never a right: a forwarder on this computer is a user too.
 */
export async function uidOfPeer({
  remotePort,
  localPort,
}: Pick<Socket, 'remotePort' | 'localPort'>): Promise<number | null> {
  if (remotePort === undefined || localPort === undefined) return null
  const tables = await Promise.all(
    ['/proc/net/tcp', '/proc/net/tcp6'].map(path => readFile(path, 'utf8').catch(() => '')),
  )
  return uidIn(tables.join('\n'), { from: remotePort, to: localPort })
}

/** Reads the tables of `/proc/net/tcp`: the user of the loopback connection between two ports. */
export function uidIn(table: string, { from, to }: { from: number; to: number }): number | null {
  for (const line of table.split('\n')) {
    const [, local = '', remote = '', state, , , , uid] = line.trim().split(/\s+/)
    if (state !== ESTABLISHED || portOn(local) !== from || portOn(remote) !== to) continue
    return Number(uid) === UNKNOWN_UID ? null : Number(uid)
  }
  return null
}

/** Port of an address of the table, if that is a loopback address: 127.0.0.0/8, ::1, or the former within IPv6. */
function portOn(address: string): number | undefined {
  const [ip = '', port = ''] = address.split(':')
  const isLoopback = ip === LOOPBACK_6 || (/7F$/.test(ip) && (ip.length === 8 || ip.startsWith(MAPPED)))
  return isLoopback ? Number.parseInt(port, 16) : undefined
}
