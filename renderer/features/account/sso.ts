import { type Router } from 'vue-router'
import { defined } from '#base/defined'
import { AppError, codeFor, type RouteReply, type SsoReturn } from '#manager/contract'
import { type Services } from '../../services.ts'
import { t } from '../../words/en/sso.ts'

const KEY = 'berth.sso'

/** A visit to a provider that this tab has begun. */
export interface Visit {
  readonly secret: string
  /** Place of the server where the start named it. */
  readonly at?: string
}

interface Begun extends Visit {
  /** The page that asked for the sign-in. */
  readonly next: string | null
}

/**
 * The visit under this name that the tab has stored.
 *
 * @throws AppError `sso_expired` if there is none, or one in the form of an older page of this tab
 */
export function visitBegun(key: string): Visit {
  const visit = storedVisit(key)
  if (visit === null) throw new AppError('sso_expired', { why: t('startSignInAgain') })
  return visit
}

function storedVisit(key: string): (Visit & Partial<Begun>) | null {
  try {
    const { secret, ...rest } = JSON.parse(sessionStorage.getItem(key) ?? '{}') as Partial<Begun>
    return typeof secret === 'string' ? { secret, ...rest } : null
  } catch {
    return null
  }
}

/**
 * Begins a sign-in at a provider. A browser opens the provider in this tab; the desktop app opens it in the system's browser, which returns
 * with a code.
 *
 * Threat model: the secret stays in the storage of this tab and origin (scheme, host and port), so a code that somebody else sends is of no
 * use here.
 */
export async function beginSso(
  { api, host }: Pick<Services, 'api' | 'host'>,
  provider: string,
  next: string | null,
): Promise<void> {
  const at = await placeOfServer(host)
  const { url, secret, consoleUrl } = await api.startSso({ body: { provider, return: returnTo(at) } })
  sessionStorage.setItem(KEY, JSON.stringify({ secret, next, ...defined({ at }) } satisfies Begun))
  if (host.isDesktop) {
    await host.host.openExternal(url, 'berth')
    return
  }
  // The provider redirects to the public address, so the sign-in begins there, where its secret is then found.
  const home = new URL(consoleUrl).origin
  location.assign(home === location.origin ? url : `${home}/#/sign-in?${new URLSearchParams({ provider }).toString()}`)
}

/**
 * Place of the server of the desktop app, for the codes that its person brings (`codeFor`); undefined in a browser, whose code comes back to the
 * origin that has the secret.
 */
export async function placeOfServer(host: Services['host']): Promise<string | undefined> {
  return host.isDesktop ? new URL((await host.host.endpoint()).url).host : undefined
}

export const returnTo = (at: string | undefined): SsoReturn => (at === undefined ? { to: 'page' } : { to: 'code', at })

/**
 * Signs in at a directory, as far as name and password go. The code is used as that of a provider, so the second factor is asked for in the
 * same way.
 *
 * @returns the code for `finishSso` @throws AppError as `proveAtDirectory`
 */
export async function proveAtDirectory(
  api: Services['api'],
  body: { readonly provider: string; readonly username: string; readonly password: string },
  next: string | null,
): Promise<string> {
  const { secret, code } = await api.proveAtDirectory({ body })
  sessionStorage.setItem(KEY, JSON.stringify({ secret, next } satisfies Begun))
  return code
}

/**
 * The text that the server gets in place of the code.
 *
 * @throws AppError `sso_expired` if the desktop app has another server now: that one must not get what counts at the first
 */
export async function finishingCode(host: Services['host'], code: string, { at }: Visit): Promise<string> {
  if (at === undefined) return code
  if ((await placeOfServer(host)) !== at) throw new AppError('sso_expired', { why: t('startSignInAgain') })
  return codeFor(code, at)
}

/** @param totp after `totp_required`: a code of the authenticator app, or a recovery code */
export async function finishSso(
  { api, host }: Pick<Services, 'api' | 'host'>,
  code: string,
  totp: string | undefined,
): Promise<RouteReply<'finishSso'>> {
  const visit = visitBegun(KEY)
  return api.finishSso({
    body: { secret: visit.secret, code: await finishingCode(host, code, visit), ...defined({ totp }) },
  })
}

/** Goes back to the sign-in page as it was before, so that neither the address bar nor the history keeps a code. */
export async function forgetCode(router: Router): Promise<void> {
  const next = storedVisit(KEY)?.next ?? null
  await router.replace({ name: 'sign-in', query: next === null ? {} : { next } })
}

/** Forgets a sign-in that has ended. */
export function endSso(): void {
  sessionStorage.removeItem(KEY)
}
