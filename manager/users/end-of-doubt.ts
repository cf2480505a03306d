import { inShort, type AccountNewsKind } from '#manager/contract'
import { deactivateKeypairs } from '../store/identity/keypairs.ts'
import { listMadeSince, type MadeSince, type Named, oneIf } from '../store/identity/made-since.ts'
import { type UserRow } from '../store/identity/users.ts'
import { type Db } from '../store/schema.ts'
import { endsDoubt } from './acting-for.ts'
import { type AfterCommit, afterCommitOf } from './after-commit.ts'
import { newsOfTaken, unlinkDoubtful } from './take-back.ts'
import { type News, newsOfOwn, type AccountNotifier } from './account-notifier.ts'

export interface DoubtEnd extends AfterCommit {
  /** The account afterwards. */
  readonly user: UserRow
}

/**
 * Ends the doubt whether somebody else knows the password (ADR 59): the person has chosen one that nobody else can know, or signs in
 * without one.
 *
 * Threat: somebody who had access to the account left something permanent. Keypairs can sign in, so they are deactivated until the person
 * activates them; accounts at providers can sign in, so those that were linked with the password are unlinked, and rights from their
 * mapping are taken back. Everything else created or changed meanwhile may be the person's own: it is not removed, but listed in messages.
 *
 * Runs in the transaction that ends the doubt.
 *
 * @param before the account during the doubt, locked
 * @param now the account now, for example with the role that ends the doubt
 */
export async function endDoubt(
  trx: Db,
  notifier: Pick<AccountNotifier, 'write'>,
  before: UserRow,
  now: UserRow,
): Promise<DoubtEnd> {
  const taken = await unlinkDoubtful(trx, now)
  const { user, ended } = taken
  const end = { user, ended, hasLeftProjects: taken.projects.length > 0 }
  const lost = newsOfTaken(taken)
  if (before.password_from === 'person') {
    await notifier.write(trx, lost)
    return { ...end, news: lost }
  }
  const since = before.doubt_since ?? before.created_at
  // The messages (`newsOfLeft`) list everything that was set with these keypairs or created since.
  const keypairs = await deactivateKeypairs(trx, before.id, since)
  const made = await listMadeSince(trx, before.id, since)
  const left = newsOfLeft(before, {
    ...made,
    keypairs: { names: keypairs, total: keypairs.length },
    identities: oneIf(taken.unlinked > 0),
  })
  const news = [...left, ...lost]
  await notifier.write(trx, news)
  return { ...end, news }
}

/**
 * Like `endDoubt`, for a password that the signed-in user has chosen. If this ends the doubt, the user is notified of the new password too,
 * because a superadmin signed in as the user may have chosen it.
 */
export async function endDoubtByChoice(
  trx: Db,
  notifier: Pick<AccountNotifier, 'write'>,
  before: UserRow,
  now: UserRow,
): Promise<DoubtEnd> {
  if (!endsDoubt(before.password_from, now.password_from)) return { user: now, ...afterCommitOf() }
  const news = [newsOfOwn(before, 'own_password_chosen')]
  await notifier.write(trx, news)
  const end = await endDoubt(trx, notifier, before, now)
  return { user: end.user, ...afterCommitOf({ news }, end) }
}

/** Kinds of things that may have been left, in the order of the messages. */
const KINDS = {
  keypairs: 'left_keypairs',
  identities: 'left_identities',
  script: 'left_script',
  dotfiles: 'left_dotfiles',
  folders: 'left_folders',
  sshKey: 'left_ssh_key',
  secondFactor: 'left_second_factor',
  sessions: 'left_sessions',
  images: 'left_images',
  templates: 'left_templates',
  shares: 'left_shares',
  links: 'left_links',
  invitations: 'left_invitations',
  accountLinks: 'left_account_links',
  webhooks: 'left_webhooks',
  scimTokens: 'left_scim_tokens',
} as const satisfies Record<keyof Left, AccountNewsKind>

interface Left extends MadeSince {
  readonly keypairs: Named
  readonly identities: Named
}

function newsOfLeft({ id: userId, email }: Pick<UserRow, 'id' | 'email'>, left: Left): News[] {
  const by = { userId, email }
  return (Object.keys(KINDS) as (keyof Left)[]).flatMap(what => {
    const { names, total, sessions = [] } = left[what]
    return total === 0 ? [] : [{ userId, by, kind: KINDS[what], detail: inShort(names, total), sessions }]
  })
}
