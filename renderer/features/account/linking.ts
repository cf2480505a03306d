import { AppError, type OwnIdentity } from '#manager/contract'
import { type Services } from '../../services.ts'
import { t as sso } from '../../words/en/sso.ts'
import { type OwnProof } from '../proof/useProof.ts'
import { t } from '../../words/en/identities.ts'

const KEY = 'berth.sso.link'

/**
 * Begins to link an account at a provider, as `beginSso` begins a sign-in: a browser opens the provider in this tab, the desktop app opens
 * it in the system's browser, which then shows a code. The secret stays in the storage of this tab.
 *
 * @throws AppError as `startLinking`; `sso_expired` if the provider would redirect to another address of this Berth
 */
export async function beginLinking(
  { api, host }: Pick<Services, 'api' | 'host'>,
  provider: string,
  proof: OwnProof,
): Promise<void> {
  const to = host.isDesktop ? 'code' : 'page'
  const { url, secret, consoleUrl } = await api.startLinking({ body: { provider, ...proof, return: { to } } })
  const home = new URL(consoleUrl).origin
  if (!host.isDesktop && home !== location.origin) {
    throw new AppError('sso_expired', { why: t('otherAddress', { address: home }) })
  }
  sessionStorage.setItem(KEY, secret)
  if (host.isDesktop) await host.host.openExternal(url, 'berth')
  else location.assign(url)
}

/** Proves an account in a directory, to link it with the code. @throws AppError as `proveLinking` */
export async function proveLinking(
  api: Services['api'],
  body: OwnProof & { readonly provider: string; readonly username: string; readonly directoryPassword: string },
): Promise<string> {
  const { secret, code } = await api.proveLinking({ body })
  sessionStorage.setItem(KEY, secret)
  return code
}

/** Links the account with the code from the provider. @throws AppError `sso_expired` if this tab has not begun to link */
export async function finishLinking(api: Services['api'], code: string): Promise<OwnIdentity> {
  const secret = sessionStorage.getItem(KEY)
  if (secret === null) throw new AppError('sso_expired', { why: sso('startSignInAgain') })
  const linked = await api.finishLinking({ body: { secret, code } })
  sessionStorage.removeItem(KEY)
  return linked
}
