import { defined } from '#base/defined'
import { AppError, type OwnIdentity } from '#manager/contract'
import { type Services } from '../../services.ts'
import { type OwnProof } from '../../data/proof/useProof.ts'
import { finishingCode, placeOfServer, returnTo, type Visit, visitBegun } from './sso.ts'
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
  const at = await placeOfServer(host)
  const { url, secret, consoleUrl } = await api.startLinking({ body: { provider, ...proof, return: returnTo(at) } })
  const home = new URL(consoleUrl).origin
  if (!host.isDesktop && home !== location.origin) {
    throw new AppError('sso_expired', { why: t('otherAddress', { address: home }) })
  }
  keep({ secret, ...defined({ at }) })
  if (host.isDesktop) await host.host.openExternal(url, 'berth')
  else location.assign(url)
}

const keep = (visit: Visit) => sessionStorage.setItem(KEY, JSON.stringify(visit))

/** Proves an account in a directory, to link it with the code. @throws AppError as `proveLinking` */
export async function proveLinking(
  api: Services['api'],
  body: OwnProof & { readonly provider: string; readonly username: string; readonly directoryPassword: string },
): Promise<string> {
  const { secret, code } = await api.proveLinking({ body })
  keep({ secret })
  return code
}

/** Links the account with the code from the provider. @throws AppError `sso_expired` if this tab has not begun to link */
export async function finishLinking({ api, host }: Pick<Services, 'api' | 'host'>, code: string): Promise<OwnIdentity> {
  const visit = visitBegun(KEY)
  const finishing = await finishingCode(host, code, visit)
  const linked = await api.finishLinking({ body: { secret: visit.secret, code: finishing } })
  sessionStorage.removeItem(KEY)
  return linked
}
