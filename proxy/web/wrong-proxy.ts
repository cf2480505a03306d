import { type IncomingMessage } from 'node:http'
import { PROXY_DOCS, type ProxyFault, type ProxyFaultCode, proxyFaultText } from '#proxy/contract'
import { type Log } from '../log.ts'
import { isEncrypted, isHttpsByOrigin, plainAddress } from './client.ts'
import { isLoopbackAddress, isRelayedWithAnotherName } from './guard.ts'

/** Judges the reverse proxy in front of the console by the requests that come through it. */
export interface ProxyWatch {
  /**
   * Examines one request; the result does not change how the request is answered.
   *
   * @param isServed whether its Host field names this server
   */
  inspect(request: IncomingMessage, isServed: boolean): void
  /** Faults that have not been fixed since, latest first. */
  faults(): readonly ProxyFault[]
}

/** Any client can forge a fault, so addresses must fill neither the log nor the memory. */
const MAX_FAULTS = 20

export function watchProxies(trusted: readonly string[], log: Log, now: () => Date = () => new Date()): ProxyWatch {
  /** Faults by peer and code, latest last. */
  const faults = new Map<string, ProxyFault>()
  const told = new Set<string>()

  function note(code: ProxyFaultCode, peer: string) {
    const key = `${peer} ${code}`
    const lastSeen = now().toISOString()
    const { firstSeen = lastSeen } = faults.get(key) ?? {}
    faults.delete(key)
    faults.set(key, { code, peer, firstSeen, lastSeen })
    if (faults.size > MAX_FAULTS) faults.delete(faults.keys().next().value ?? key)
    if (told.has(key) || told.size >= MAX_FAULTS) return
    told.add(key)
    const { says, mend } = proxyFaultText({ code, peer })
    log.warn(
      { peer, code },
      `the reverse proxy in front of the console is misconfigured: ${says} ${mend} See ${PROXY_DOCS}.`,
    )
  }

  return {
    inspect(request, isServed) {
      const peer = plainAddress(request.socket.remoteAddress ?? '')
      const verdict = judgeProxy(request, trusted, isServed)
      if (verdict === 'good') {
        for (const [key, fault] of faults) if (fault.peer === peer) faults.delete(key)
      } else if (verdict !== 'unknown') note(verdict, peer)
    },
    faults: () => [...faults.values()].toReversed(),
  }
}

/**
 * Judges by one request the reverse proxy that forwarded it: `good` if the proxy is named in the configuration and sets all
 * fields, `unknown` if the request may have come directly. A plain request over loopback, an SSH port forward and a browser in
 * the same network over http are `unknown`, and so are requests of a forward proxy in front of a browser (it sends
 * X-Forwarded-For alone).
 *
 * Threat model: a page of anybody can give this server a name of its own (DNS rebinding, `localhost.`), and then sets every field but a
 * few. It must not make up a proxy at the address of its reader, which an administrator would be asked to trust. So a request for a name
 * that is not served says nothing, except by fields that no page can set.
 *
 * @param isServed whether the Host field names this server
 */
export function judgeProxy(
  request: IncomingMessage,
  trusted: readonly string[],
  isServed: boolean,
): ProxyFaultCode | 'good' | 'unknown' {
  const { headers, socket } = request
  const has = (name: string) => headers[name] !== undefined
  // With TLS of our own, https says nothing about a reverse proxy.
  const usesHttps =
    !isEncrypted(request) && (isHttpsByOrigin(request) || (isOfBrowser(headers) && !isLoopbackName(headers.host)))
  if (isRelayedWithAnotherName(request)) return 'host_changed'
  if (!isServed) return 'unknown'
  if (trusted.includes(plainAddress(socket.remoteAddress ?? ''))) {
    if (has('x-forwarded-for') && has('x-forwarded-proto')) {
      const says = headers['x-forwarded-proto']?.toString().split(',').at(-1)?.trim().toLowerCase()
      return usesHttps && says !== 'https' ? 'scheme_wrong' : 'good'
    }
    // Health checks of the proxy itself have no client. A browser on the proxy's computer may also come directly.
    return usesHttps || has('x-forwarded-for') ? 'fields_missing' : 'unknown'
  }
  const isReverse = has('x-forwarded-proto') || has('x-forwarded-host')
  if (isReverse || (has('x-forwarded-for') && isLoopbackAddress(socket.remoteAddress))) return 'not_trusted'
  return usesHttps ? 'silent' : 'unknown'
}

/** Browsers send this field only over https and to loopback names. */
const isOfBrowser = (headers: IncomingMessage['headers']) => headers['sec-fetch-site'] !== undefined

const isLoopbackName = (host = '') => /^([^:]*\.)?localhost(:\d+)?$|^127(\.\d+){3}(:\d+)?$|^\[::1\](:\d+)?$/i.test(host)
