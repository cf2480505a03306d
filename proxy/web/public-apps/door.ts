import { type IncomingMessage } from 'node:http'
import { type ApiClient, isAppError, PUBLIC_OPEN_PATH, type ServedApp } from '#manager/contract'
import { clearedBefore, newVisit, type PublicDoor, visitCookie } from './public-gate.ts'
import { passwordPage, type PublicPage, publicRefusal } from './public-pages.ts'
import { PAGE_HEADERS } from '../../http-origins/pages.ts'

export interface DoorDeps {
  readonly served: ServedApp
  readonly place: string
  readonly api: Pick<ApiClient, 'visitServedApp'>
  readonly door: PublicDoor
  /** Of the visitor; the manager counts wrong passwords by it. */
  readonly address: string
  /** Apps are at ports of one host, which other apps had before. */
  readonly isShared: boolean
}

/** A key and a password, with room to spare. */
const MOST_BYTES = 4096
const BODY_MS = 10_000
const CHECK_MS = 20_000

/**
 * Answers at the door of a published app: a good key (and password) becomes a cookie.
 *
 * Threat model: the key travels in the address once, and the redirect takes it out of the address bar; our pages send no
 * referrer. The manager compares key and password and limits guesses. The cookie is HttpOnly and signed; it opens this app only.
 */
export async function answerAtDoor(request: IncomingMessage, deps: DoorDeps): Promise<PublicPage> {
  const shown = await readShown(request)
  if (!shown) return publicRefusal('key')
  const { key, password } = shown
  try {
    await deps.api.visitServedApp({
      params: { place: deps.place },
      body: { key, ...(password === undefined ? {} : { password }) },
      headers: { 'x-forwarded-for': deps.address },
      signal: AbortSignal.timeout(CHECK_MS),
    })
    return letIn(request, deps)
  } catch (error) {
    return refusalOf(error, { key, title: deps.served.title })
  }
}

function letIn({ headers }: IncomingMessage, { door, served, isShared }: DoorDeps): PublicPage {
  const cookie = visitCookie(door)
  const { value, seconds } = newVisit(door, Date.parse(served.expiresAt))
  return {
    status: 303,
    headers: {
      ...PAGE_HEADERS,
      location: startOf(served.path),
      'set-cookie': `${cookie.name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${cookie.attributes}`,
      ...clearedBefore(headers.cookie, door, isShared),
    },
    body: () => '',
  }
}

function refusalOf(error: unknown, { key, title }: { readonly key: string; readonly title: string }): PublicPage {
  if (!isAppError(error)) throw error
  const { code, detail } = error
  if (code === 'published_app_not_found') return publicRefusal('ended')
  if (code === 'rate_limited') {
    const { retryAfterSeconds: wait } = detail
    return passwordPage({
      title,
      key,
      fault: { kind: 'tooMany', seconds: typeof wait === 'number' ? wait : undefined },
    })
  }
  if (code !== 'public_link_refused') throw error
  if (detail.reason === 'no_password') return passwordPage({ title, key })
  return detail.reason === 'password' ? passwordPage({ title, key, fault: { kind: 'wrong' } }) : publicRefusal('key')
}

/** Keeps the first page on this origin: an image's label names it. */
export function startOf(path: string): string {
  const url = URL.parse(path, 'http://app.invalid')
  if (!url) return '/'
  return url.host === 'app.invalid' ? url.pathname.replace(/^\/+/, '/') + url.search + url.hash : '/'
}

/** The key (and password) that a visitor shows; undefined if there is none. */
async function readShown(request: IncomingMessage): Promise<{ key: string; password?: string } | undefined> {
  if (request.method === 'GET') {
    const key = new URLSearchParams((request.url ?? '').slice(PUBLIC_OPEN_PATH.length)).get('key')
    return key === null || key.length > 200 ? undefined : { key }
  }
  if (request.method !== 'POST') return undefined
  const form = await readForm(request)
  const [key, password] = [form?.get('key'), form?.get('password')]
  if (!key || key.length > 200 || password === undefined || password === null) return undefined
  return { key, password: password.slice(0, 1024) }
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  const deadline = setTimeout(() => request.destroy(), BODY_MS)
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      const bytes = chunk as Buffer
      size += bytes.length
      if (size > MOST_BYTES) return undefined
      chunks.push(bytes)
    }
    return new URLSearchParams(Buffer.concat(chunks).toString('utf8'))
  } finally {
    clearTimeout(deadline)
  }
}
