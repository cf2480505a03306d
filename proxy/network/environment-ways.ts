import { BlockList, isIP } from 'node:net'
import { DIRECT, type FindWays, type Way } from './way.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The proxy that HTTPS_PROXY, HTTP_PROXY and ALL_PROXY name (small letters first, as curl reads them), unless NO_PROXY lists the
 * server.
 *
 * @returns direct connections where no variable names a proxy
 */
export function environmentWays(env: Environment): FindWays {
  const named = (name: string) => env[name.toLowerCase()] || env[name.toUpperCase()] || undefined
  const all = named('all_proxy')
  const [forHttps, forHttp] = [named('https_proxy') ?? all, named('http_proxy') ?? all]
  const isExcepted = exceptionsOf(named('no_proxy') ?? '')
  return target => {
    const setting = target.protocol === 'https:' ? forHttps : forHttp
    return Promise.resolve(setting === undefined || isExcepted(target) ? DIRECT : [wayOf(setting)])
  }
}

function wayOf(setting: string): Way {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(setting) ? setting : `http://${setting}`)
  if (url === null) return { kind: 'unknown', named: 'an address that cannot be read' }
  const { username, password } = url
  // With `h`, curl lets the proxy look up names; Berth always does.
  const protocol = url.protocol === 'socks5h:' ? 'socks5:' : url.protocol
  const named = `${protocol}//${url.host}`
  if (!['http:', 'https:', 'socks5:'].includes(protocol)) return { kind: 'unknown', named }
  const signIn = username === '' ? undefined : `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { kind: 'proxy', url: named, signIn }
}

/** Entries of NO_PROXY: `*`, names (with all below them), `host:port`, addresses and ranges such as `10.0.0.0/8`. */
function exceptionsOf(list: string): (target: URL) => boolean {
  const tests = list
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(exceptionOf)
  return ({ protocol, hostname, port }) => {
    const host = hostname.replace(/^\[|\]$/g, '').toLowerCase()
    const at = Number(port || (protocol === 'https:' ? 443 : 80))
    return tests.some(test => test(host, at))
  }
}

type Exception = (host: string, port: number) => boolean

function exceptionOf(entry: string): Exception {
  if (entry === '*') return () => true
  const [, range, bits] = /^(.+)\/(\d{1,3})$/.exec(entry) ?? []
  if (range !== undefined && isIP(range) !== 0) return inRange(range, Number(bits))
  const [, named = entry, port] = /^([^:]+|\[.+\]):(\d+)$/.exec(entry) ?? []
  const name = named
    .replace(/^\[|\]$/g, '')
    .replace(/^\*?\./, '')
    .toLowerCase()
  return (host, at) => (port === undefined || Number(port) === at) && (host === name || host.endsWith(`.${name}`))
}

function inRange(range: string, bits: number): Exception {
  const block = new BlockList()
  const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4')
  try {
    block.addSubnet(range, bits, familyOf(range))
  } catch {
    return () => false // more bits than the address has
  }
  return host => isIP(host) !== 0 && block.check(host, familyOf(host))
}
