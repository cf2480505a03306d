import { type IncomingMessage } from 'node:http'
import { type Log } from '../log.ts'
import { isLoopbackAddress } from './guard.ts'
import { plainAddress } from './client.ts'

/** What is wrong with the reverse proxy through which this request came; undefined where nothing is seen. */
export function proxyFault({ headers, socket }: IncomingMessage, trusted: readonly string[]): string | undefined {
  const peer = plainAddress(socket.remoteAddress ?? '')
  const has = (name: string) => headers[name] !== undefined
  if (trusted.includes(peer)) {
    const missing = ['X-Forwarded-For', 'X-Forwarded-Proto'].filter(name => !has(name.toLowerCase()))
    // A health check of the proxy itself has no client.
    if (missing.length === 0 || !isOfBrowser(headers)) return undefined
    return `the reverse proxy ${peer} does not send ${missing.join(' and ')}`
  }
  if (has('x-forwarded-for') || has('x-forwarded-proto')) {
    return `${peer} forwards requests and is not named in BERTH_TRUSTED_PROXIES (console.trustedProxies)`
  }
  const isLoopbackName = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i.test(headers.host ?? '')
  if (!isLoopbackAddress(socket.remoteAddress) || isLoopbackName || !isOfBrowser(headers)) return undefined
  return `requests for ${String(headers.host)} come from ${peer} without X-Forwarded-For: a reverse proxy does not say for whom it asks`
}

const isOfBrowser = (headers: IncomingMessage['headers']) => headers['sec-fetch-site'] !== undefined

/** Tells each fault of a reverse proxy once in the log; nothing of it changes what is answered. */
export function warnOfProxies(trusted: readonly string[], log: Log): (request: IncomingMessage) => void {
  const told = new Set<string>()
  return request => {
    const fault = proxyFault(request, trusted)
    if (fault === undefined || told.size >= MAX_TOLD || told.has(fault)) return
    told.add(fault)
    log.warn({ fault }, 'the reverse proxy in front of the console is not set up right; see docs/admin/agents.md')
  }
}

/** Faults name what clients sent: they must not fill the log. */
const MAX_TOLD = 20
