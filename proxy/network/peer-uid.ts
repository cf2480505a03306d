import { type Socket } from 'node:net'
import { ESTABLISHED, hexOf, LOOPBACK_6, mapped, readTcpTables, type TcpEnd, tcpRows } from './tcp-table.ts'

/** The kernel's stand-in for users that the namespace of this process does not know. */
const UNKNOWN_UID = 65_534
const ROOT = 0

type Ends = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>

/**
 * User id of the process that opened the other end of a loopback connection; null where the kernel does not tell (other systems than
 * Linux, a namespace of users). A hint for people, never a right: a forwarder on this computer is a user too.
 */
export async function uidOfPeer({ remoteAddress, remotePort, localAddress, localPort }: Ends): Promise<number | null> {
  if (remotePort === undefined || localPort === undefined) return null
  const from = { address: remoteAddress ?? '', port: remotePort }
  return uidIn(await readTcpTables(), { from, to: { address: localAddress ?? '', port: localPort } })
}

/**
 * Whether another user of this computer opened the connection, and neither root nor the user of this process. False where the kernel
 * does not tell. For programs of one person, which hand something out once: a check beside those that count everywhere.
 */
export async function isOfOtherUser(socket: Ends): Promise<boolean> {
  const uid = await uidOfPeer(socket)
  return uid !== null && uid !== ROOT && uid !== process.geteuid?.()
}

interface End {
  readonly address: string
  readonly port: number
}

/** Reads the tables of `/proc/net/tcp`: the user of the loopback connection between two ends. */
export function uidIn(table: string, { from, to }: { readonly from: End; readonly to: End }): number | null {
  const isIt = ({ ip, port }: TcpEnd, wanted: End) => port === wanted.port && formsOf(wanted.address).includes(ip)
  const row = tcpRows(table).find(
    ({ state, local, remote }) => state === ESTABLISHED && isIt(local, from) && isIt(remote, to),
  )
  return row === undefined || row.uid === UNKNOWN_UID ? null : row.uid
}

/** Forms of a loopback address in the table; none for all others. Clients of IPv4 may have a socket of IPv6. */
function formsOf(address: string): readonly string[] {
  if (address === '::1') return [LOOPBACK_6]
  const four = /^(?:::ffff:)?(127\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  return four === undefined ? [] : [hexOf(four), mapped(hexOf(four))]
}
