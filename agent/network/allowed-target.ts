import { isIP } from 'node:net'
import { coversName } from '#manager/contract'

/** The ports of HTTP and HTTPS, the only ones that the proxy of sessions connects to. */
const PORTS: readonly number[] = [80, 443]

export interface Target {
  /** Lower case, without the dot of the root at its end. */
  readonly name: string
  readonly port: number
}

/** Why a request of a session is not carried out, in words for the person who reads the output of a program there. */
export type TargetRefusal = 'address' | 'malformed' | 'name' | 'port' | 'scheme'

/** @param authority target of CONNECT: `example.org:443`. @see RFC 9110, section 9.3.6 */
export function connectTarget(authority: string, names: readonly string[]): Target | TargetRefusal {
  const found = /^(\[[^[\]]*\]|[^:[\]]*):(\d{1,5})$/.exec(authority)
  return found ? judge(found[1] ?? '', Number(found[2]), names) : 'malformed'
}

/** @param url target of any other request, in its absolute form: `http://example.org/path`. @see RFC 9112, section 3.2.2 */
export function requestTarget(
  url: string,
  names: readonly string[],
): { readonly target: Target; readonly path: string } | TargetRefusal {
  const form = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^#]*)(?:#.*)?$/i.exec(url)
  if (!form) return 'malformed'
  const [, scheme = '', authority = '', rest = ''] = form
  // HTTPS goes through CONNECT: this proxy reads nothing that is encrypted.
  if (scheme.toLowerCase() !== 'http') return 'scheme'
  const found = /^(\[[^[\]]*\]|[^:[\]@]*)(?::(\d{1,5}))?$/.exec(authority)
  if (!found) return 'malformed'
  const target = judge(found[1] ?? '', found[2] === undefined ? 80 : Number(found[2]), names)
  return typeof target === 'string' ? target : { target, path: rest.startsWith('/') ? rest : `/${rest}` }
}

function judge(host: string, port: number, names: readonly string[]): Target | TargetRefusal {
  const name = host.toLowerCase().replace(/\.$/, '')
  // Also forms that a resolver would read as an address: 2130706433, 0x7f.1, 127.1.
  if (host.startsWith('[') || isIP(name) !== 0 || /(?:^|\.)(?:\d+|0x[\da-f]*)$/.test(name)) return 'address'
  if (!HOST_NAME.test(name)) return 'malformed'
  if (!PORTS.includes(port)) return 'port'
  return names.some(entry => coversName(entry, name)) ? { name, port } : 'name'
}

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_][a-z0-9_-]{0,62})+$/
