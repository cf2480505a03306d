import { posix } from 'node:path'
import { LISTEN, tcpRows } from '../network/tcp-table.ts'

/** @param table text of /proc/net/tcp */
export function listeningInodes(table: string, port: number): string[] {
  return tcpRows(table)
    .filter(({ state, local }) => state === LISTEN && local.port === port)
    .map(({ inode }) => inode)
}

const INTERPRETER = /^(node|nodejs|bun|deno|python[\d.]*|ruby[\d.]*|perl[\d.]*|php[\d.]*|java|bash|sh|dash)$/

/**
 * The name by which a person knows a program; for an interpreter, with its script. Other arguments may hold secrets and are left out.
 *
 * @param executable name of the file; empty if it is not known
 * @param args its command line, with its own name first
 */
export function programName(executable: string, args: readonly string[]): string {
  const own = executable.replace(/ \(deleted\)$/, '') || posix.basename(args[0] ?? '')
  if (!INTERPRETER.test(own)) return own
  const at = args.findIndex((argument, index) => index > 0 && (!argument.startsWith('-') || argument === '-m'))
  const [first = '', module = ''] = args.slice(Math.max(at, 0), at + 2)
  const script = at < 0 ? '' : first === '-m' ? module : posix.basename(first)
  return script === '' ? own : `${own} ${script}`
}

/** @param text of `lsof -Fpc`: a line `p` with the process, then one `c` with its name */
export function parseLsof(text: string): { pid: number; name: string } | undefined {
  const pid = Number(/^p(\d+)$/m.exec(text)?.[1])
  if (!Number.isInteger(pid)) return undefined
  // lsof writes characters that do not print, also spaces, as \xHH.
  const name = /^c(.*)$/m.exec(text)?.[1] ?? ''
  return { pid, name: name.replaceAll(/\\x([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))) }
}

/**
 * @param text of `netstat -ano`; the name of the state depends on the system's language, so a listener is recognised by its remote address
 * @returns the process
 */
export function parseNetstat(text: string, port: number): number | undefined {
  for (const line of text.split(/\r?\n/)) {
    const [protocol, local = '', foreign = '', ...rest] = line.trim().split(/\s+/)
    if (protocol !== 'TCP' || !local.endsWith(`:${String(port)}`)) continue
    if (!['0.0.0.0:0', '[::]:0', '*:*'].includes(foreign)) continue
    const pid = Number(rest.at(-1))
    if (Number.isInteger(pid) && pid > 0) return pid
  }
  return undefined
}

/** @param text of `tasklist /fo csv /nh`: `"node.exe","1234","Console","1","45,678 K"` @returns the name, or an empty text */
export function parseTasklist(text: string, pid: number): string {
  for (const line of text.split(/\r?\n/)) {
    const [name, id] = [...line.matchAll(/"((?:[^"]|"")*)"/g)].map(([, value = '']) => value.replaceAll('""', '"'))
    if (name !== undefined && id === String(pid)) return name
  }
  return ''
}
