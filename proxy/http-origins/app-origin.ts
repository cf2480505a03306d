import { type IncomingMessage, type ServerResponse } from 'node:http'
import { type Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { defined } from '#base/defined'
import { createUnprovenConnections } from '#base/unproven-connections'
import { type App, type Grant } from '#manager/contract'
import { createUnboundHttpServer } from '../http/create-server.ts'
import { mapHeaders, type RawHeaders } from '#base/raw-headers'
import { answerRaw, type RawAnswer, rawAnswer } from '../http/raw-answer.ts'
import { answerUnread, type UnreadRequest } from '../http/unread-requests.ts'
import { createAppForward } from './app-forward.ts'
import { isOfOtherUser } from '../network/peer-uid.ts'
import {
  admit,
  coversOpening,
  folderOf,
  type GateDeps,
  isOpening,
  OPEN_PATH,
  type Visit,
  withoutCookie,
} from './gate.ts'
import { type Log } from '../log.ts'
import { createHostChoice } from './host-choice.ts'
import { hostNameOf } from './origin.ts'
import { languageOf } from './page-language.ts'
import { failurePage, PAGE_HEADERS, type Refusal } from './pages.ts'
import { refusalAnswer } from './refusal-answer.ts'
import { createTickets, randomSecret } from './secrets.ts'

export interface AppOriginDeps {
  readonly app: App
  readonly sessionName: string
  readonly port: number
  /** A byte stream to the app. @throws AppError */
  readonly connect: (signal: AbortSignal) => Promise<Duplex>
  /** The header that carries the app's own secret; read for every request. */
  readonly inject: () => Grant['inject']
  /** True unless this session was the last to use this port for the app: the first browser clears data of the session before. */
  readonly clearFirst: boolean
  /** Seed of the host name: the server and the id of the session, or a text that no tunnel used before. */
  readonly hostSeed: string
  /** True: a ticket counts only if the browser belongs to the user of this process. */
  readonly ownUserOnly: boolean
  readonly log: Log
}

export interface AppOrigin {
  /** Takes over a connection of the listener. */
  accept(socket: Socket): void
  /** A single-use URL that admits one browser within a minute. `path`: first page; that of the app if left out. */
  issueUrl(path?: string): string
  close(): void
}

const TICKET_LIFE_MS = 60_000
/** Limit of connections to one app that have made no request which passed the gate. A browser has six. */
const MOST_UNPROVEN = 256

/**
 * Serves one HTTP app on its own origin: admits browsers by ticket and cookie (see `gate.ts`), and forwards everything else through pooled
 * tunnels.
 *
 * Threat model: the gate keeps strangers out, and the app itself is not trusted either. It never sees our cookie (stripped). Its secret is
 * added here and never reaches a page or a URL. It cannot touch other apps, which are other sites. Upstream text is never mixed into our
 * own pages. A program that opens a browser names the address with the ticket, and every user of the computer can read the arguments of
 * programs: so a program of one person takes tickets from that person's browsers only. Every user of the computer reaches the port, so the
 * number of connections without a request that passed the gate is limited.
 */
export function createAppOrigin(deps: AppOriginDeps): AppOrigin {
  const authority = `${hostNameOf(deps.app.name, deps.hostSeed)}:${deps.port}`
  const tickets = createTickets({ lifeMs: TICKET_LIFE_MS })
  const gate: GateDeps = { authority, cookieName: `berth_app_${deps.port}`, cookieValue: randomSecret(), tickets }
  const names = createHostChoice({
    origin: `http://${authority}`,
    app: deps.app.name,
    speaksTls: () => deps.app.protocol === 'https',
    mayBeLocal: true,
  })
  const forward = createAppForward({
    connect: deps.connect,
    requestHeaders: (request, raw) =>
      names.requestHeaders(request, requestHeaders(raw, gate.cookieName, deps.inject())),
    answerHeaders: (request, raw, status) =>
      names.answerHeaders(request, answerHeaders(raw, request.url ?? ''), status),
    failurePage: failure => failurePage({ ...failure, app: deps.app.title, session: deps.sessionName }),
    log: deps.log,
  })
  let clears = deps.clearFirst
  const unproven = createUnprovenConnections<Socket>(MOST_UNPROVEN)

  const server = createUnboundHttpServer({ keepAliveTimeout: 60_000, onRequest, onUpgrade, log: deps.log })

  answerUnread(server, unreadAnswer)

  function onRequest(request: IncomingMessage, response: ServerResponse) {
    if (!deps.ownUserOnly || !isGoodOpening(request)) {
      answer(request, response)
      return undefined
    }
    // This look reads the kernel's table of all connections, so it comes last.
    return isOfOtherUser(request.socket).then(isOther => {
      if (isOther) refuse(response, 'other_user')
      else answer(request, response)
    })
  }

  /** Whether the ticket of a request would be accepted; the ticket stays valid. */
  function isGoodOpening(request: IncomingMessage): boolean {
    const unused = { ...gate, tickets: { redeem: (ticket: string) => tickets.isGood(ticket) } }
    return isOpening(request.url ?? '') && admit(visitOf(request), unused).kind === 'welcome'
  }

  function answer(request: IncomingMessage, response: ServerResponse) {
    const admission = admit(visitOf(request), gate)
    if (admission.kind === 'pass') {
      response.once('close', unproven.prove(request.socket))
      forward.request(request, response)
    } else if (admission.kind === 'welcome') welcome(request, response)
    else refuse(response, admission.reason)
  }

  function refuse(response: ServerResponse, reason: Refusal) {
    const { status, headers, body } = refusalAnswer(reason, response.req.headers.accept, languageOf(response))
    response.writeHead(status, headers).end(body)
  }

  function onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
    const admission = admit(visitOf(request), gate)
    if (admission.kind !== 'pass') {
      const reason = admission.kind === 'refuse' ? admission.reason : 'bad_ticket'
      answerRaw(socket, rawRefusal(reason, request.headers.accept))
      return
    }
    unproven.keep(request.socket)
    forward.upgrade(request, socket, head)
  }

  function welcome(request: IncomingMessage, response: ServerResponse) {
    const wanted = new URLSearchParams(request.url?.split('?', 2)[1]).get('to')
    const cookie = `${gate.cookieName}=${gate.cookieValue}; Path=/; HttpOnly; SameSite=Lax`
    response.writeHead(303, {
      ...PAGE_HEADERS,
      location: pathWithin(wanted ?? deps.app.path),
      'set-cookie': cookie,
      // "cookies" is left out: it would drop the cookie set here, and a new origin has no cookie of another session.
      ...(clears ? { 'clear-site-data': '"cache", "storage"' } : {}),
    })
    clears = false
    response.end()
  }

  return {
    accept(socket) {
      unproven.add(socket)
      server.emit('connection', socket)
    },
    issueUrl(path) {
      const query = new URLSearchParams({ ticket: tickets.issue(), ...defined({ to: path }) })
      return `http://${authority}${OPEN_PATH}?${query.toString()}`
    },
    close() {
      forward.close()
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Answer to a request that the parser could not read. */
function unreadAnswer({ code, accept }: UnreadRequest): string {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return rawAnswer({ status: 408, type: PAGE_HEADERS['content-type'], body: '' })
  const reason = UNREAD_REASONS[code ?? ''] ?? 'unreadable'
  return rawAnswer(rawRefusal(reason, accept))
}

const UNREAD_REASONS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: 'long_head',
  HPE_INVALID_URL: 'raw_address',
}

/** Refusal for a request that has no response object; its Accept-Language is not known. */
function rawRefusal(reason: Refusal, accept: string | undefined): RawAnswer {
  const { status, headers, body } = refusalAnswer(reason, accept, 'en')
  return { status, type: headers['content-type'] ?? '', body }
}

function visitOf(request: IncomingMessage): Visit {
  return {
    method: request.method ?? '',
    target: request.url ?? '',
    host: soleValue(request, 'host'),
    origin: soleValue(request, 'origin'),
    fetchSite: soleValue(request, 'sec-fetch-site'),
    cookie: request.headers.cookie,
    isWorkerScript: request.headers['service-worker'] !== undefined,
  }
}

/**
 * Keeps a start page on this origin. Apps come from image labels, and links from the output of a session: `//elsewhere`, or
 * `/.//elsewhere`, would lead to another site.
 */
function pathWithin(path: string): string {
  const url = URL.parse(path, 'http://app.localhost')
  return url?.host === 'app.localhost' ? url.pathname.replace(/^\/+/, '/') + url.search + url.hash : '/'
}

/**
 * Joins repeated Host or Origin fields: Node keeps only the first, and a second one may be an attempt to show us one value and the app
 * another.
 */
function soleValue({ rawHeaders }: IncomingMessage, wanted: string): string | undefined {
  let found: string | undefined
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    if (name.length !== wanted.length || name.toLowerCase() !== wanted) continue
    const value = rawHeaders[i + 1] ?? ''
    found = found === undefined ? value : `${found}, ${value}`
  }
  return found
}

/** Our cookie is removed; the app's secret is set by us, never by the client. */
export function requestHeaders(raw: RawHeaders, cookieName: string, inject: Grant['inject']): string[] {
  const injected = inject?.header.toLowerCase()
  const kept = mapHeaders(raw, (name, value) => {
    if (name === injected) return undefined
    return name === 'cookie' ? withoutCookie(value, cookieName) : value
  })
  return inject ? [...kept, inject.header, inject.value] : kept
}

/**
 * Keeps service workers off the opening path (`gate.ts`): the app cannot widen a worker's scope over that path. The browser
 * also cannot take a script that was loaded as an ordinary one from its cache for a worker, which would bypass the gate.
 */
export function answerHeaders(raw: RawHeaders, target: string): string[] {
  const kept = mapHeaders(raw, (name, value) =>
    name === SCOPE_FIELD && !isHarmlessScope(value, raw) ? undefined : value,
  )
  return coversOpening(folderOf(target)) ? [...kept, 'Vary', 'Service-Worker'] : kept
}

const SCOPE_FIELD = 'service-worker-allowed'
/** Browsers disagree on everything else: Chromium takes the text before the first comma, others join fields that are repeated. */
const PLAIN_PATH = /^\/[\w~-][\w./~%-]*$/

/** Whether a value is the only one of its field, and read by every browser as a scope that does not cover the opening path. */
function isHarmlessScope(value: string, raw: RawHeaders): boolean {
  const isOnly = raw.filter((name, at) => at % 2 === 0 && name.toLowerCase() === SCOPE_FIELD).length === 1
  return isOnly && PLAIN_PATH.test(value) && !coversOpening(new URL(value, 'http://app.localhost').pathname)
}
