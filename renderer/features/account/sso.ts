import { type Router } from 'vue-router'
import { defined } from '#base/defined'
import { AppError, type RouteReply } from '#manager/contract'
import { type Services } from '../../services.ts'
import { t } from '../../words/en/sso.ts'

const KEY = 'berth.sso'

/** A sign-in at a provider that this tab has begun. */
interface Begun {
  readonly secret: string
  /** The page that asked for the sign-in. */
  readonly next: string | null
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
  const to = host.isDesktop ? 'code' : 'page'
  const { url, secret, consoleUrl } = await api.startSso({ body: { provider, return: { to } } })
  sessionStorage.setItem(KEY, JSON.stringify({ secret, next } satisfies Begun))
  if (host.isDesktop) {
    await host.host.openExternal(url, 'berth')
    return
  }
  // The provider redirects to the public address, so the sign-in begins there, where its secret is then found.
  const home = new URL(consoleUrl).origin
  location.assign(home === location.origin ? url : `${home}/#/sign-in?${new URLSearchParams({ provider }).toString()}`)
}

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

/** The sign-in that this tab has begun. @throws AppError `sso_expired` if there is none */
function begun(): Begun {
  const text = sessionStorage.getItem(KEY)
  if (text === null) throw new AppError('sso_expired', { why: t('startSignInAgain') })
  return JSON.parse(text) as Begun
}

/** @param totp after `totp_required`: a code of the authenticator app, or a recovery code */
export async function finishSso(
  api: Services['api'],
  code: string,
  totp: string | undefined,
): Promise<RouteReply<'finishSso'>> {
  const { secret } = begun()
  return api.finishSso({ body: { secret, code, ...defined({ totp }) } })
}

/** Goes back to the sign-in page as it was before, so that neither the address bar nor the history keeps a code. */
export async function forgetCode(router: Router): Promise<void> {
  const text = sessionStorage.getItem(KEY)
  const next = text === null ? null : (JSON.parse(text) as Begun).next
  await router.replace({ name: 'sign-in', query: next === null ? {} : { next } })
}

/** Forgets a sign-in that has ended. */
export function endSso(): void {
  sessionStorage.removeItem(KEY)
}
