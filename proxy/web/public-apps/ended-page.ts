import { defined } from '#base/defined'
import { type ApiClient } from '#manager/contract'
import { isKnownVisitor, mayHoldVisit } from './public-gate.ts'
import { type PublicPage, publicRefusal } from './public-pages.ts'

export interface EndedVisit {
  readonly place: string
  /** Key of a link, as shown by the visitor. */
  readonly key: string | undefined
  /** Cookie field of the request. */
  readonly cookie: string | undefined
  readonly scheme: 'http' | 'https'
}

/** Whether the visitor shows something that only a link gives. */
export const mayHaveHeld = ({ key, cookie }: Pick<EndedVisit, 'key' | 'cookie'>): boolean =>
  key !== undefined || mayHoldVisit(cookie)

/**
 * The page for a place without an app: why the link has ended, for those who held it. They show its key, or the cookie of a visit. Nobody
 * else learns that there was a link.
 */
export async function endedPage(
  api: Pick<ApiClient, 'listEndedLinks'>,
  { place, key, cookie, scheme }: EndedVisit,
  signal: AbortSignal,
): Promise<PublicPage> {
  const { items } = await api.listEndedLinks({ params: { place }, body: defined({ key }), signal })
  const own = items.find(({ isShown, ...link }) => {
    return isShown || isKnownVisitor(cookie, { ...link, scheme, authority: '', nowMs: Date.now() })
  })
  return publicRefusal(own?.why ?? 'ended')
}
