import { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { AppError, because, CONSOLE_SECRET_HEADER } from '#manager/contract'
import { equalSecrets } from '../users/secrets.ts'

/**
 * Host names and origins that the server accepts. A page of another site can make a browser send requests here, by DNS rebinding even with
 * its own name as Host; so Host must be one of our names, and a page that sends a request (Origin) must be ours.
 */
export interface OriginRules {
  /** @throws AppError `forbidden` (Host), `foreign_origin` */
  check(headers: IncomingHttpHeaders): void
  /** True for a host name that links to this server may contain: a loopback name with any port, or an allowed name. */
  isOurs(host: string): boolean
}

/** @param options `allowed`: names besides loopback, with or without port: `berth.example.org`, `10.0.0.7:8090` */
export function createOriginRules(options: { port: () => number; allowed: readonly string[] }): OriginRules {
  const allowed = new Set(options.allowed.map(name => name.toLowerCase()))
  const isOwn = (host: string) => {
    const name = host.replace(/:\d+$/, '')
    return (isLoopbackName(name) && host === `${name}:${options.port()}`) || allowed.has(host) || allowed.has(name)
  }
  return {
    isOurs(host) {
      const name = nameOf(host)
      return isLoopbackName(name) || allowed.has(host.toLowerCase()) || allowed.has(name)
    },
    check({ host, origin }) {
      const asked = host?.toLowerCase() ?? ''
      if (!isOwn(asked)) {
        const why = `This server does not answer to the name "${asked.slice(0, 100)}". Add it to BERTH_ALLOWED_HOSTS if it should.`
        throw new AppError('forbidden', { why })
      }
      if (origin !== undefined && hostOf(origin) !== asked) {
        throw new AppError('foreign_origin', because('other_page'))
      }
    },
  }
}

const nameOf = (host: string) => host.toLowerCase().replace(/:\d+$/, '')
const isLoopbackName = (name: string) => name === '127.0.0.1' || name === 'localhost' || name === '[::1]'

function hostOf(origin: string): string | undefined {
  if (!URL.canParse(origin)) return undefined // "null" of a sandboxed page, too
  const { protocol, host } = new URL(origin)
  return protocol === 'http:' || protocol === 'https:' ? host : undefined
}

/** Peers whose `x-forwarded-*` fields are trusted. */
export interface Forwarders {
  /** Shared with the console, which sends it as `x-berth-console`; undefined if no console has one. */
  readonly consoleSecret?: string | undefined
  /** Addresses of reverse proxies. */
  readonly trustedProxies?: readonly string[] | undefined
}

/** Origin of a request: from its connection, or as reported by a proven forwarder. */
export interface RequestOrigin {
  /** The client's address. */
  readonly address: string
  /** Host field that the client sent. */
  readonly host: string
  readonly https: boolean
  /** True if anybody forwarded the request, proven or not: a request from loopback need not come from this computer. */
  readonly isForwarded: boolean
  /** False if a request from one of our pages would have come through the console: the manager itself serves no pages. */
  readonly mayBeOfPage: boolean
}

const origins = new WeakMap<IncomingMessage, RequestOrigin>()

/**
 * Decides once, before anything reads the origin of a request, whether its `x-forwarded-*` fields are trusted.
 *
 * Threat model: anybody can write these fields, every user of this computer can connect to our port, and the fields decide whose failed
 * sign-ins are counted, which address the audit log names, and whether a cookie is `Secure`. So they are trusted only from a console that
 * knows the shared secret and from addresses configured by the operator, and only for the last hop.
 */
export function noteOrigin(request: IncomingMessage, forwarders: Forwarders): { readonly isConsole: boolean } {
  const { headers } = request
  const { trustedProxies = [] } = forwarders
  const isConsole = isFromConsole(request, forwarders)
  const direct = directOrigin(request)
  const isBelieved = isConsole || trustedProxies.includes(plainAddress(direct.address))
  const mayBeOfPage = isBelieved || forwarders.consoleSecret === undefined
  origins.set(request, { ...(isBelieved ? forwardedOrigin(headers, direct) : direct), mayBeOfPage })
  return { isConsole }
}

/** Whether the console's process sent the request, itself or for a client. */
function isFromConsole({ headers }: IncomingMessage, { consoleSecret }: Forwarders): boolean {
  const sent = headers[CONSOLE_SECRET_HEADER]
  return consoleSecret !== undefined && typeof sent === 'string' && equalSecrets(sent, consoleSecret)
}

/** The recorded origin of a request; if there is none, the origin of its connection. */
export function originOf(request: IncomingMessage): RequestOrigin {
  return origins.get(request) ?? directOrigin(request)
}

function directOrigin({ socket, headers }: IncomingMessage): RequestOrigin {
  const isForwarded = FORWARDING_FIELDS.some(name => headers[name] !== undefined)
  return {
    address: socket.remoteAddress ?? 'unknown',
    host: headers.host ?? '',
    https: isHttpsByOrigin(headers),
    isForwarded,
    mayBeOfPage: true,
  }
}

function forwardedOrigin(headers: IncomingHttpHeaders, direct: RequestOrigin): RequestOrigin {
  const lastOf = (name: string) => headers[name]?.toString().split(',').at(-1)?.trim() ?? ''
  const address = lastOf('x-forwarded-for')
  const host = headers['x-forwarded-host']
  return {
    address: /^[0-9A-Fa-f:.]{2,45}$/.test(address) ? address : direct.address,
    host: typeof host === 'string' && host !== '' ? host : direct.host,
    https: lastOf('x-forwarded-proto') === 'https' || isHttpsByOrigin(headers),
    isForwarded: true,
    mayBeOfPage: true,
  }
}

/**
 * Whether the browser sends our own address with https as Origin, as with every sign-in: then cookies get `Secure` even if the reverse
 * proxy sends no X-Forwarded-Proto. False behind a console, which replaces the Origin by its own address.
 */
function isHttpsByOrigin(headers: IncomingHttpHeaders): boolean {
  const { origin, host = '', 'x-forwarded-host': forwardedHost = host } = headers
  return origin !== undefined && origin === `https://${host.toLowerCase()}` && forwardedHost === host
}

const FORWARDING_FIELDS = ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'forwarded', 'via'] as const

/** An IPv4 address in its plain form, also from a dual-stack socket. */
const plainAddress = (address: string) => address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '')

/**
 * Address of the console for links that are given to other people, if the settings name none: the address of this request, if it is one of
 * ours, else the advertised one. A loopback name is useful only on this computer.
 */
export function consoleAddress(request: IncomingMessage, rules: OriginRules, advertiseUrl: string | undefined): string {
  const { host, https } = originOf(request)
  const isUsable = rules.isOurs(host) && (advertiseUrl === undefined || !isLoopbackName(nameOf(host)))
  if (isUsable) return `${https ? 'https' : 'http'}://${host}`
  return advertiseUrl ?? `http://${request.headers.host ?? 'localhost'}`
}

/** Whether the client of a request reaches us by this host, and it is one of our names: a field of a forwarder may hold any. */
export const isReachedAs = (request: IncomingMessage, rules: Pick<OriginRules, 'isOurs'>, host: string): boolean =>
  originOf(request).host.toLowerCase() === host && rules.isOurs(host)

/** Address for which failures are counted: the client reported by a proven forwarder, else the peer. */
export function clientAddress(request: IncomingMessage): string {
  return originOf(request).address
}

export function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(127\.|::1$|::ffff:127\.)/.test(address)
}
