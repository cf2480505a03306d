import { readFile } from 'node:fs/promises'

/** A socket in the kernel's tables of TCP. */
export interface TcpRow {
  readonly local: TcpEnd
  readonly remote: TcpEnd
  /** `ESTABLISHED`, `LISTEN`, … */
  readonly state: string
  /** User id of the socket's creator. */
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

let reading: Promise<string | undefined> | undefined
let next: Promise<string | undefined> | undefined

/**
 * The tables of this network namespace, read after the call; undefined if the system has none to read (other systems than Linux). One read
 * at a time, because the tables may be long and any client can cause reads: callers during a read share the next one.
 */
export function readTcpTables(): Promise<string | undefined> {
  if (reading) return (next ??= reading.then(begin, begin))
  return begin()
}

function begin(): Promise<string | undefined> {
  next = undefined
  const own = readNow().finally(() => {
    if (reading === own) reading = undefined
  })
  return (reading = own)
}

async function readNow(): Promise<string | undefined> {
  const tables = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map(readTable))
  return tables.every(table => table === undefined) ? undefined : tables.join('\n')
}

const ABSENT: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM'])

/**
 * A table that cannot be read just now counts as empty: somebody who uses up the file descriptors of this process must not hide the other
 * table.
 */
async function readTable(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    return ABSENT.has((error as NodeJS.ErrnoException).code) ? undefined : ''
  }
}

function endOf(address: string): TcpEnd {
  const [ip = '', port = ''] = address.split(':')
  return { ip, port: Number.parseInt(port, 16) }
}
