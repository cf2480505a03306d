import { type IncomingMessage } from 'node:http'
import { mapHeaders, type RawHeaders } from '#base/raw-headers'

/** Refusals of a name: Django has 400, MLflow, Vite and mitmweb 403, servers of MCP 421. */
const REFUSALS: ReadonlySet<number> = new Set([400, 403, 421])

export interface HostChoiceOptions {
  /** Scheme and authority, as browsers write them. */
  readonly origin: string
  /** Name of the app; for a bare port, a name with its number. */
  readonly app: string
  /** Whether the app speaks https; called for each request. */
  readonly speaksTls: () => boolean
  /** False: the app is never named localhost. */
  readonly mayBeLocal: boolean
}

export interface HostChoice {
  readonly requestHeaders: (request: IncomingMessage, raw: RawHeaders) => string[]
  readonly answerHeaders: (request: IncomingMessage, raw: RawHeaders, status: number) => string[]
}

/**
 * Chooses the host name under which an app accepts requests: that of its origin, or `localhost`. Servers with a list of allowed hosts
 * (MLflow, mitmweb) have only localhost on it, so that no name of a page that leads to this computer reaches them (DNS rebinding). If an
 * app refuses its first page, the page is requested again with `localhost` in Host, Origin and Referer; if that is refused too, the name
 * was not the reason.
 *
 * Threat model: the gate has compared Host and Origin with those of the origin before, which is what such a list is for. Only a person who
 * may use the session gets here; an app that trusts every client at `localhost` already trusts the other programs of its session. An app
 * that speaks https builds its own addresses with https, and compares Origin with them: Origin, Referer and Location get the scheme of the
 * side that reads them.
 */
export function createHostChoice({ origin, app, speaksTls, mayBeLocal }: HostChoiceOptions): HostChoice {
  const port = /^https?-(\d+)$/.exec(app)?.[1]
  const local = port === undefined ? 'localhost' : `localhost:${port}`
  const { host } = new URL(origin)
  let state: 'unknown' | 'trying' | 'own' | 'local' = 'unknown'
  const isLocalIn = new WeakMap<IncomingMessage, boolean>()

  function learn(request: IncomingMessage, status: number): 'ask again' | undefined {
    // A server error says nothing about the name.
    if (!mayBeLocal || !isPage(request) || status >= 500) return undefined
    const isRefused = REFUSALS.has(status)
    if (state === 'unknown' && isLocalIn.get(request) === false) {
      state = isRefused ? 'trying' : 'own'
      return isRefused ? 'ask again' : undefined
    }
    if (state === 'trying' && isLocalIn.get(request) === true) state = isRefused ? 'own' : 'local'
    return undefined
  }

  return {
    requestHeaders(request, raw) {
      const isLocal = state === 'trying' || state === 'local'
      isLocalIn.set(request, isLocal)
      const far = originFor(isLocal)
      if (far === origin) return [...raw]
      const kept = mapHeaders(raw, (name, value) => {
        if (name === 'host' && isLocal) return local
        if (name === 'origin' && value === origin) return far
        if (name === 'referer' && value.startsWith(`${origin}/`)) return far + value.slice(origin.length)
        return name === 'x-forwarded-host' && isLocal ? undefined : value
      })
      return isLocal ? [...kept, 'X-Forwarded-Host', host] : kept
    },
    answerHeaders(request, raw, status) {
      const again = learn(request, status) === 'ask again' ? ['Refresh', '0'] : []
      const far = originFor(isLocalIn.get(request) === true)
      if (far === origin) return [...raw, ...again]
      const kept = mapHeaders(raw, (name, value) => (name === 'location' ? backFrom(far, value) : value))
      return [...kept, ...again]
    },
  }

  /** The origin of the app as the app itself knows it. */
  function originFor(isLocal: boolean): string {
    if (speaksTls()) return `https://${isLocal ? local : host}`
    return isLocal ? `http://${local}` : origin
  }

  /** Changes a Location with the app's own origin to the address that the browser uses. */
  function backFrom(far: string, location: string): string {
    const url = URL.parse(location)
    return url?.host === new URL(far).host ? origin + location.slice(url.origin.length) : location
  }
}

const isPage = ({ method, headers }: IncomingMessage) =>
  method === 'GET' && headers.upgrade === undefined && headers.accept?.includes('text/html') === true
