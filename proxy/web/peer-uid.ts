import { type Socket } from 'node:net'
import { ESTABLISHED, readTcpTables, type TcpEnd, tcpRows } from '../network/tcp-table.ts'

/** The kernel's stand-in for users that the namespace of this process does not know. */
const UNKNOWN_UID = 65_534
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
  return uidIn(await readTcpTables(), { from: remotePort, to: localPort })
}

/** Reads the tables of `/proc/net/tcp`: the user of the loopback connection between two ports. */
export function uidIn(table: string, { from, to }: { from: number; to: number }): number | null {
  const isIt = ({ ip, port }: TcpEnd, wanted: number) => port === wanted && isLoopback(ip)
  const row = tcpRows(table).find(
    ({ state, local, remote }) => state === ESTABLISHED && isIt(local, from) && isIt(remote, to),
  )
  return row === undefined || row.uid === UNKNOWN_UID ? null : row.uid
}

/** 127.0.0.0/8, ::1, or the former within IPv6. */
const isLoopback = (ip: string) => ip === LOOPBACK_6 || (/7F$/.test(ip) && (ip.length === 8 || ip.startsWith(MAPPED)))
