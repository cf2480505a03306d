import { readFile } from 'node:fs/promises'

/** A socket in the kernel's tables of TCP. */
export interface TcpRow {
  readonly local: TcpEnd
  readonly remote: TcpEnd
  /** `ESTABLISHED`, `LISTEN`, … */
  readonly state: string
  /** User id of whoever made the socket. */
  readonly uid: number
  readonly inode: string
}

export interface TcpEnd {
  /** In hex, as words of four bytes, each in the order of the processor: `0100007F` is 127.0.0.1. */
  readonly ip: string
  readonly port: number
}

export const LOOPBACK_6 = '00000000000000000000000001000000'
const MAPPED = '0000000000000000FFFF0000'

/** An address of IPv4 as a socket of IPv6 has it. @param ip in hex */
export const mapped = (ip: string) => MAPPED + ip

/** An address of IPv4 in the form of the table. @param address four numbers with dots */
export function hexOf(address: string): string {
  const bytes = address.split('.').map(part => Number(part).toString(16).toUpperCase().padStart(2, '0'))
  return bytes.toReversed().join('')
}

export const ESTABLISHED = '01'
export const LISTEN = '0A'

/** @param table text of /proc/net/tcp or tcp6, or of both; see proc_pid_net(5) */
export function tcpRows(table: string): TcpRow[] {
  return table.split('\n').flatMap(line => {
    const [, local = '', remote = '', state = '', , , , uid = '', , inode = ''] = line.trim().split(/\s+/)
    return /^[\dA-F]+:[\dA-F]{4}$/.test(local)
      ? [{ local: endOf(local), remote: endOf(remote), state, uid: Number(uid), inode }]
      : []
  })
}

/** The tables of this network namespace; empty where there are none (other systems than Linux). */
export async function readTcpTables(): Promise<string> {
  const tables = await Promise.all(
    ['/proc/net/tcp', '/proc/net/tcp6'].map(path => readFile(path, 'utf8').catch(() => '')),
  )
  return tables.join('\n')
}

function endOf(address: string): TcpEnd {
  const [ip = '', port = ''] = address.split(':')
  return { ip, port: Number.parseInt(port, 16) }
}
