import { AppError, because, type LinkPurpose, type SentLink } from '#manager/contract'
import { type Mailer } from '../mail/mailer.ts'
import { accountLinkMail } from '../mail/texts.ts'
import { type Settings } from '../settings/settings.ts'
import { type LinkOrigin } from '../store/identity/email-tokens.ts'
import { type UserRow } from '../store/identity/users.ts'
import { isReachable, linkOrigin, mayHoldSecret } from './acting-for.ts'
import { type Caller } from './authorize.ts'
import { linkTo } from './links.ts'

/** How a link that one person creates for another is delivered. */
export interface LinkDelivery {
  /** True: by mail to the person; false: its maker receives it and passes it on. */
  readonly mailed: boolean
  readonly origin: LinkOrigin
  /** Address of the console. */
  readonly base: string
}

/**
 * Decides how a link is delivered: by mail if that reaches the person, otherwise through the admin who created it.
 *
 * @param options `inHand`: not by mail; `origin`: address at which the admin uses the console
 * @throws AppError `forbidden` for a link that is not mailed although mail reaches the person, except for superadmins
 */
export function deliveryOf(
  caller: Caller,
  person: Pick<UserRow, 'email'>,
  { publicUrl, mailReady }: Pick<Awaited<ReturnType<Settings['read']>>, 'publicUrl' | 'mailReady'>,
  { origin, inHand = false }: { readonly origin: string; readonly inHand?: boolean },
): LinkDelivery {
  const isReached = isReachable(person, { mailReady: mailReady && publicUrl !== null })
  if (inHand && !mayHoldSecret(caller, isReached)) throw new AppError('forbidden', because('mail_brings_link'))
  const mailed = isReached && !inHand
  return { mailed, origin: linkOrigin(caller, mailed), base: publicUrl ?? origin }
}

/** Delivers a stored link. */
export function sendLink(
  mailer: Pick<Mailer, 'post'>,
  delivery: LinkDelivery,
  { token, expiresAt, purpose, email }: { token: string; expiresAt: Date; purpose: LinkPurpose; email: string },
): SentLink {
  const url = linkTo(delivery.base, purpose === 'verify' ? 'verify' : 'reset-password', { token })
  if (delivery.mailed) mailer.post(accountLinkMail(email, { url, purpose, expiresAt }))
  return { url: delivery.mailed ? null : url, purpose, expiresAt: expiresAt.toISOString() }
}
