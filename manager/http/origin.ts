import { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { AppError } from '#manager/contract'

/**
 * Which names the server answers to. A page of another site can make a browser send requests here, by DNS rebinding
 * even with its own name as Host; so a request must name us, and if a page sent it (Origin), that page must be ours.
 *
 * @param allowed further names, with or without port: `berth.example.org`, `10.0.0.7:8090`
 */
export interface OriginRules {
  /** @throws AppError `forbidden` (Host), `foreign_origin` */
  check(headers: IncomingHttpHeaders): void
}

export function createOriginRules(options: { port: () => number; allowed: readonly string[] }): OriginRules {
  const allowed = new Set(options.allowed.map(name => name.toLowerCase()))
  const isOwn = (host: string) => {
    const name = host.replace(/:\d+$/, '')
    const own = name === '127.0.0.1' || name === 'localhost' || name === '[::1]'
    return (own && host === `${name}:${options.port()}`) || allowed.has(host) || allowed.has(name)
  }
  return {
    check({ host, origin }) {
      const asked = host?.toLowerCase() ?? ''
      if (!isOwn(asked)) {
        const why = `This server does not answer to the name "${asked.slice(0, 100)}". Add it to BERTH_ALLOWED_HOSTS if it should.`
        throw new AppError('forbidden', { why })
      }
      if (origin !== undefined && hostOf(origin) !== asked) {
        throw new AppError('foreign_origin', { why: 'Open the console at its own address.' })
      }
    },
  }
}

function hostOf(origin: string): string | undefined {
  if (!URL.canParse(origin)) return undefined // "null" of a sandboxed page, too
  const { protocol, host } = new URL(origin)
  return protocol === 'http:' || protocol === 'https:' ? host : undefined
}

/** Set by proxies on this computer, and believed from those only. */
export function forwarded(request: IncomingMessage): { host: string; https: boolean } {
  const local = isLoopback(request.socket.remoteAddress)
  const header = (name: string) => {
    const value = local ? request.headers[name] : undefined
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  return {
    host: header('x-forwarded-host') ?? request.headers.host ?? '',
    https: header('x-forwarded-proto') === 'https',
  }
}

/** Whose failures are counted: the last hop that a proxy on this computer names, else the peer. */
export function clientAddress(request: IncomingMessage): string {
  const peer = request.socket.remoteAddress ?? 'unknown'
  const via = isLoopback(peer) ? request.headers['x-forwarded-for'] : undefined
  const last = typeof via === 'string' ? via.split(',').at(-1)?.trim() : undefined
  return last !== undefined && /^[0-9A-Fa-f:.]{2,45}$/.test(last) ? last : peer
}

export function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(127\.|::1$|::ffff:127\.)/.test(address)
}
