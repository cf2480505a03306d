import { readFile } from 'node:fs/promises'
import { type Socket } from 'node:net'
import { ESTABLISHED, hexOf, LOOPBACK_6, mapped, readTcpTables, type TcpEnd, tcpRows } from './tcp-table.ts'

/** The kernel's stand-in for users that the namespace of this process does not know; else the user `nobody`, whom programs run as. */
const UNKNOWN_UID = 65_534
const ROOT = 0
/** The table is read in pieces, so a row can be missed while others are added and removed. */
const LOOKS = 3

type EndKey = 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'
type Ends = { readonly [Key in EndKey]?: Socket[Key] | undefined }

/**
 * User id of the process that opened a connection; null if the kernel does not tell (other systems than Linux, a connection of the network,
 * a namespace of users). `hidden`: the kernel lists connections here, but not this one, so refuse it.
 *
 * Threat model: every user of this computer may connect, and chooses when to end the connection and which source address to use. A client
 * that waits for its answer is ESTABLISHED. In every other state the kernel may name no user, or the wrong one (root for a connection that
 * has ended), so nothing else counts. The user is a hint for people, never a right: a forwarder on this computer is a user too.
 */
export async function uidOfPeer(socket: Ends): Promise<number | 'hidden' | null> {
  const { remoteAddress, remotePort, localAddress, localPort } = socket
  const ends = { remoteAddress, remotePort, localAddress, localPort }
  for (let look = 1; ; look++) {
    const found = peerIn(await readTcpTables(), ends, await knowsAllUsers())
    if (found !== 'hidden' || look === LOOKS) return found
  }
}

/**
 * Whether a user other than root and the user of this process opened the connection. True if the connection is `hidden`, false if the
 * kernel does not report the user. An additional check for programs that give something to one person only once.
 */
export async function isOfOtherUser(socket: Ends): Promise<boolean> {
  const uid = await uidOfPeer(socket)
  return uid !== null && uid !== ROOT && uid !== process.geteuid?.()
}

/**
 * Decides which user opened a connection. @param table text of /proc/net/tcp and tcp6; undefined if there is none @param ends addresses and
 * ports as seen from our end @param knowsAll whether the namespace of this process has all users
 */
export function peerIn(table: string | undefined, ends: Ends, knowsAll = false): number | 'hidden' | null {
  if (table === undefined) return null
  const { remoteAddress = '', remotePort, localAddress = '', localPort } = ends
  const from = formsOf(remoteAddress)
  const to = formsOf(localAddress)
  const isGone = remoteAddress === ''
  // A local client may connect to loopback from an address of the network, and the other way round. Browsers do not.
  if (from.length === 0 && to.length === 0 && !isGone) return null
  const isIt = ({ ip, port }: TcpEnd, forms: readonly string[], wanted: number | undefined) =>
    port === wanted && forms.includes(ip)
  const rows = tcpRows(table).filter(
    ({ local, remote }) => isIt(local, from, remotePort) && isIt(remote, to, localPort),
  )
  const [row] = rows
  if (row === undefined || rows.some(({ state, uid }) => state !== ESTABLISHED || uid !== row.uid)) return 'hidden'
  return row.uid === UNKNOWN_UID && !knowsAll ? null : row.uid
}

/** Whether this process is in the first namespace of users, which has no stand-in. */
async function knowsAllUsers(): Promise<boolean> {
  const map = await readFile('/proc/self/uid_map', 'utf8').catch(() => '')
  return /^\s*0\s+0\s+4294967295\s*$/.test(map)
}

/** Forms of a loopback address in the table; none for all others. Clients of IPv4 may have a socket of IPv6. */
function formsOf(address: string): readonly string[] {
  if (address === '::1') return [LOOPBACK_6]
  const four = /^(?:::ffff:)?(127\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  return four === undefined ? [] : [hexOf(four), mapped(hexOf(four))]
}
