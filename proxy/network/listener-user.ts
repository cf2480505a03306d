import { readFile } from 'node:fs/promises'
import { AppError, because } from '#manager/contract/light'
import { hexOf, LISTEN, LOOPBACK_6, mapped, readTcpTables, type TcpRow, tcpRows } from './tcp-table.ts'

const ROOT = 0
const ANY_4 = '00000000'
const ANY_6 = '0'.repeat(32)

/**
 * Throws before a sign-in is sent without encryption to a port of this computer at which another user's program listens: while Berth is
 * stopped, everybody may listen there (ADR 73). It does nothing where the listener is unknown (an address elsewhere, TLS, other systems
 * than Linux, no listener in this network namespace).
 *
 * Threat model: the listener can change between this check and the connection.
 *
 * @param listener user id that `listenerToRemember` gave at the sign-in
 * @throws AppError `unavailable` with the name of the user
 */
export async function refuseForeignListener(endpoint: string, listener: number | undefined): Promise<void> {
  const uid = await lookAt(endpoint, listener)
  if (uid === undefined) return
  const values = { server: new URL(endpoint).origin, user: await nameOf(uid) }
  throw new AppError('unavailable', { ...because('listener_of_other_user', values), whySaysNext: true })
}

/** User id to keep with a new sign-in; undefined if Berth runs there as this user or root, or if the user is unknown. */
export const listenerToRemember = (endpoint: string): Promise<number | undefined> => lookAt(endpoint, undefined)

async function lookAt(endpoint: string, listener: number | undefined): Promise<number | undefined> {
  const own = process.geteuid?.()
  const url = new URL(endpoint)
  if (own === undefined || addressesOf(url).length === 0) return undefined
  return foreignListener((await readTcpTables()) ?? '', url, { own, listener })
}

/**
 * Decides whether a sign-in may be sent.
 *
 * @param table text of /proc/net/tcp and tcp6
 * @returns the user who would get the sign-in, unless that is root, this user or the one of the sign-in; undefined: it may be sent
 */
export function foreignListener(
  table: string,
  endpoint: URL,
  { own, listener }: { readonly own: number; readonly listener: number | undefined },
): number | undefined {
  const port = Number(endpoint.port || 80)
  const rows = tcpRows(table).filter(({ state, local }) => state === LISTEN && local.port === port)
  const found = addressesOf(endpoint).flatMap(ip => answering(rows, ip).map(({ uid }) => uid))
  return found.find(uid => ![ROOT, own, listener].includes(uid))
}

/** Listeners that may get a connection to this address. */
function answering(rows: readonly TcpRow[], ip: string): readonly TcpRow[] {
  const at = (...ips: string[]) => rows.filter(({ local }) => ips.includes(local.ip))
  if (ip === LOOPBACK_6) return at(ip, ANY_6)
  const listeners = at(ip, mapped(ip), ANY_4, mapped(ANY_4))
  // If there is an IPv4 listener, one of IPv6 accepts only IPv6: otherwise the kernel would not let them share the port.
  return listeners.length > 0 ? listeners : at(ANY_6)
}

/** Addresses in the form of the table that a plain address of this computer stands for; none for all others. */
function addressesOf({ protocol, hostname }: URL): string[] {
  if (protocol !== 'http:') return []
  // A client tries both.
  if (/(^|\.)localhost$/.test(hostname)) return [hexOf('127.0.0.1'), LOOPBACK_6]
  if (hostname === '[::1]') return [LOOPBACK_6]
  return /^127(\.\d+){3}$/.test(hostname) ? [hexOf(hostname)] : []
}

/** Name of a user for people, from this computer's list of users; the id if it has no name. */
async function nameOf(uid: number): Promise<string> {
  const list = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const fields = list.split('\n').map(line => line.split(':'))
  return fields.find(([, , id]) => id === String(uid))?.[0] ?? String(uid)
}
