import { type IncomingMessage } from 'node:http'
import { AppError, because, type Grant, isSessionId, isToken } from '#manager/contract'
import { mapHeaders, type RawHeaders } from '#base/raw-headers'
import { isForwarding, ownCookie, withoutOurs } from '../public-apps/visitor-headers.ts'

/** Beside `Authorization`, for apps that read that themselves. The app never sees this one. */
export const PROGRAM_HEADER = 'berth-authorization'

const PREFIX = '/apps/'

/** Whether the address is one of apps for programs. */
export const isProgramPath = (target: string) => target.startsWith(PREFIX)

/** The app that a request names, and the credential with which it came. */
export interface ProgramRequest {
  readonly sessionId: string
  readonly app: string
  /** Path and query as the app gets them. */
  readonly target: string
  readonly token: string
}

/**
 * Reads `/apps/SESSION/APP/…`. Browsers are refused by what only they send: their pages could be shown at the console's own origin.
 *
 * @throws AppError `not_found`, `foreign_origin`, `not_signed_in`
 */
export function readProgramRequest({ url = '', headers, headersDistinct }: IncomingMessage): ProgramRequest {
  const [, sessionId = '', app = '', rest = ''] = /^\/apps\/([^/?]+)\/([^/?]+)(.*)$/s.exec(url) ?? []
  if (!isSessionId(sessionId) || !/^[\w.-]{1,32}$/.test(app))
    throw new AppError('not_found', because('program_address'))
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined)
    throw new AppError('foreign_origin', because('program_in_browser'))
  const sent = headersDistinct[PROGRAM_HEADER] ?? headersDistinct.authorization ?? []
  const token = sent.length === 1 ? bearerIn(sent[0] ?? '') : undefined
  if (token === undefined || !isToken(token)) throw new AppError('not_signed_in', because('program_token'))
  return { sessionId, app, target: rest.startsWith('/') ? rest : `/${rest}`, token }
}

const bearerIn = (value: string) => /^bearer +(\S+)$/i.exec(value.trim())?.[1]

/** Facts about the way of a request, for the app and for its headers. */
export interface ProgramWay {
  readonly token: string
  readonly inject: Grant['inject']
  /** Address of the client. */
  readonly address: string
  readonly scheme: 'http' | 'https'
  readonly host: string
  /** Path before that of the app, without a slash at its end. */
  readonly prefix: string
}

/**
 * The headers of a program's request as the app gets them: without our token, wherever it stands. An `Authorization` of the app's own stays
 * if ours came in `Berth-Authorization`. The app is addressed as `localhost`, which is the only name that every server accepts.
 */
export function programHeaders(raw: RawHeaders, way: ProgramWay): string[] {
  const injected = way.inject?.header.toLowerCase()
  const kept = mapHeaders(raw, (name, value) => {
    if (name === PROGRAM_HEADER || name === injected || isForwarding(name)) return undefined
    if (name === 'host') return 'localhost'
    if (value.includes(way.token)) return undefined
    return name === 'cookie' ? withoutOurs(value) : value
  })
  const ours = ['X-Forwarded-For', way.address, 'X-Forwarded-Proto', way.scheme, 'X-Forwarded-Host', way.host]
  const { inject } = way
  return [...kept, ...ours, 'X-Forwarded-Prefix', way.prefix, ...(inject ? [inject.header, inject.value] : [])]
}

/** Fields that hold for the whole host, which is the console's. */
const OF_THE_HOST =
  /^(access-control-.*|clear-site-data|strict-transport-security|alt-svc|public-key-pins|nel|report-to|reporting-endpoints|use-as-dictionary|sec(ure)?-session-registration|service-worker-allowed|content-security-policy|cross-origin-.*|www-authenticate)$/

/**
 * The headers of an app's answer as the program gets them. The answer stands at the console's origin, so nothing in it may reach further than
 * itself: no field for the whole host, no leave for other origins, cookies only below the app's path, and no script should a browser show it
 * after all. Programs follow a redirect with all their headers, at least with `Berth-Authorization`, so one that leads out of the app's path
 * comes as `Berth-Location`: the token must not go there.
 */
export function programAnswer(raw: RawHeaders, way: AnswerWay): string[] {
  const elsewhere: string[] = []
  const kept = mapHeaders(raw, (name, value) => {
    if (OF_THE_HOST.test(name) || name === ELSEWHERE.toLowerCase()) return undefined
    if (name === 'set-cookie') return ownCookie(value) && belowPath(value, way.prefix)
    if (name !== 'location') return value
    const below = locationBelow(value, way)
    if (below === undefined) elsewhere.push(ELSEWHERE, value)
    return below
  })
  return [...kept, ...elsewhere, ...FOR_NO_PAGE]
}

/** Where the answer stands. */
interface AnswerWay extends Pick<ProgramWay, 'prefix' | 'scheme' | 'host'> {
  /** Path and query of the request as the app got them. */
  readonly target: string
}

const FOR_NO_PAGE = [
  ...['Content-Security-Policy', "sandbox; default-src 'none'; frame-ancestors 'none'"],
  ...['Cross-Origin-Resource-Policy', 'same-origin', 'X-Content-Type-Options', 'nosniff'],
]

/** Name of the field with an address elsewhere, which programs do not follow by themselves. */
const ELSEWHERE = 'Berth-Location'

/**
 * The path of an address of the app as the program reaches it. The app was called as `localhost`, where the program would ask its own computer.
 *
 * Threat: programs read addresses differently, and leave points and tabs out of them: `../../..` and a scheme with a tab in it lead out of the
 * app's path. So what they get is the path that was read here, never what the app wrote.
 *
 * @returns undefined for an address that is not below the app's path
 */
function locationBelow(value: string, { prefix, scheme, host, target }: AnswerWay): string | undefined {
  const at = URL.parse(value, `http://localhost${target}`)
  if (at === null) return undefined
  const path = at.pathname + at.search + at.hash
  if (at.origin === URL.parse(`${scheme}://${host}`)?.origin && at.pathname.startsWith(`${prefix}/`)) return path
  return /^https?:$/.test(at.protocol) && at.host === 'localhost' ? prefix + path : undefined
}

function belowPath(value: string, prefix: string): string {
  const [pair = '', ...attributes] = value.split(';')
  const others = attributes.filter(attribute => !/^\s*(domain|path)\s*(=|$)/i.test(attribute))
  return [pair, ` Path=${prefix}/`, ...others].join(';')
}
