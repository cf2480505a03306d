import { type IncomingMessage } from 'node:http'
import { defined } from '#base/defined'
import { type ApiClient, isAppError, type ServedApp } from '#manager/contract'
import { endedPage } from './ended-page.ts'
import { letIn } from './let-in.ts'
import { keyIn, readForm } from './read-form.ts'
import { type PublicDoor } from './public-gate.ts'
import { passwordPage, type PublicPage, publicRefusal } from './public-pages.ts'

export interface DoorDeps {
  readonly served: ServedApp
  readonly place: string
  readonly api: Pick<ApiClient, 'visitServedApp' | 'listEndedLinks'>
  readonly door: PublicDoor
  /** Address of the visitor; the manager counts wrong passwords per address. */
  readonly address: string
  /** True if apps are at ports of one host, where other apps may have been before. */
  readonly isShared: boolean
}

const CHECK_MS = 20_000

/**
 * Answers at the entry of a published app: a valid key (and password) is exchanged for a cookie.
 *
 * Threat model: the key travels in the address once, and the redirect takes it out of the address bar; our pages send no referrer. The
 * manager compares key and password and limits guesses. The cookie is HttpOnly and signed; it opens this app only.
 */
export async function answerAtDoor(request: IncomingMessage, deps: DoorDeps): Promise<PublicPage> {
  const shown = await readShown(request)
  if (!shown) return publicRefusal('key')
  const { key, password } = shown
  try {
    await deps.api.visitServedApp({
      params: { place: deps.place },
      body: { key, ...defined({ password }) },
      headers: { 'x-forwarded-for': deps.address },
      signal: AbortSignal.timeout(CHECK_MS),
    })
    const { door, served, isShared } = deps
    return letIn({ door, cookie: request.headers.cookie, expiresAt: served.expiresAt, to: served.path, isShared })
  } catch (error) {
    if (!isAppError(error) || error.code !== 'published_app_not_found')
      return refusalOf(error, { key, title: deps.served.title })
    const { place, door } = deps
    const visit = { place, key, cookie: request.headers.cookie, scheme: door.scheme }
    return await endedPage(deps.api, visit, AbortSignal.timeout(CHECK_MS))
  }
}

function refusalOf(error: unknown, { key, title }: { readonly key: string; readonly title: string }): PublicPage {
  if (!isAppError(error)) throw error
  const { code, detail } = error
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

/** The key (and password) of a visitor; undefined if there is none. */
async function readShown(request: IncomingMessage): Promise<{ key: string; password?: string } | undefined> {
  if (request.method === 'GET') {
    const key = keyIn(request.url)
    return key === undefined ? undefined : { key }
  }
  if (request.method !== 'POST') return undefined
  const form = await readForm(request)
  const [key, password] = [form?.get('key'), form?.get('password')]
  if (!key || key.length > 200 || password === undefined || password === null) return undefined
  return { key, password: password.slice(0, 1024) }
}
