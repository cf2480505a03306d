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
  /** The account after it. */
  readonly user: UserRow
}

/**
 * The end of the doubt whether somebody else knows the password (ADR 59): the person has chosen one that nobody else can know, or
 * signs in without one.
 *
 * Threat: whoever was in the account left something that lasts. Keypairs sign in, so they are deactivated until the person activates
 * them; accounts at providers sign in, so those that were linked with the password are unlinked, and what their mapping gave is taken back. What else was made or changed meanwhile
 * may as well be the person's own: nothing of it is removed, and all of it is named.
 *
 * Runs in the transaction that ends the doubt.
 *
 * @param before the account as it was in doubt, locked
 * @param now the account as it is: with the role, for one, that ends the doubt
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
  // Messages of what was left (`newsOfLeft`) name all that was set with these or made since.
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
 * Like `endDoubt`, for a password that the signed-in user has chosen. The user is notified of it too if the doubt ends with it,
 * because a superadmin who was signed in as the user may have chosen it.
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

/** Kinds of what may have been left, in the order in which they are told. */
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
