import { defined } from '#base/defined'
import { AppError, because, type ChangedUser, type UserChange, type UserId } from '#manager/contract'
import { deleteEmailTokens } from '../store/identity/email-tokens.ts'
import { deleteWaitingKeypairs } from '../store/identity/keypairs.ts'
import { forgetDepartures, keepRole, listIdentities } from '../store/identity/sign-in-identities.ts'
import { listGroupIds } from '../store/identity/groups.ts'
import { lockSuperadmins, lockUser, updateUser } from '../store/identity/users.ts'
import { replaceGroups, withKnownPolicy } from './accounts.ts'
import { insertPasswordLink } from './account-with-link.ts'
import { newsOf } from './account-news.ts'
import {
  endsDoubt,
  endsWhatOthersKnew,
  othersMayKnowPassword,
  passwordSetBy,
  requireAnother,
  requireManaged,
  requireMayLetStay,
  requireMaySetPassword,
} from './acting-for.ts'
import { type AccountNotifier } from './account-notifier.ts'
import { type Logins } from './logins.ts'
import { type EventPublisher } from '../events/bus.ts'
import { type Mailer } from '../mail/mailer.ts'
import { type Settings } from '../settings/settings.ts'
import { type Store } from '../store/open-store.ts'
import { announceAccount, mustFind } from './account-row.ts'
import { afterCommitOf } from './after-commit.ts'
import { type Caller, requireMayAssign, requireMayGivePolicy, requirePerson } from './authorize.ts'
import { endAccess } from './end-access.ts'
import { endKeypairs } from './end-keypairs.ts'
import { endDoubt } from './end-of-doubt.ts'
import { deliveryOf, sendLink } from './links-for-others.ts'
import { requireStillSignedIn } from './still-authorized.ts'
import { type Passwords, personAsking } from './passwords.ts'
import { newPassword } from './secrets.ts'
import { requireSuperadmin } from './superadmins.ts'
import { newsOfTaken, takeBack, unlinkDoubtful } from './take-back.ts'
import { toUser } from './to-user.ts'

/** Columns of a password that nobody knows. */
const NOBODYS = { password_set: false, password_from: 'person', must_change_password: false } as const

export interface ChangeUserDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly logins: Logins
  readonly settings: Pick<Settings, 'read'>
  readonly mailer: Pick<Mailer, 'post'>
  readonly notifier: AccountNotifier
  readonly events: EventPublisher
  /** Called when accounts were activated or deactivated, or their limits changed: their waiting sessions may start, or not any more. */
  readonly onChanged?: () => void
}

type ChangeUser = (caller: Caller, id: UserId, change: UserChange, origin: string) => Promise<ChangedUser>

/** @returns changes an account, by the rules of `Users.change` */
export function createChangeUser(deps: ChangeUserDeps): ChangeUser {
  const { store, passwords, logins, settings, mailer, notifier, events, onChanged } = deps
  const { db } = store

  async function chosenPassword(caller: Caller, password: string) {
    const password_hash = await passwords.hash(password, personAsking(caller.userId))
    return { password_hash, password_from: passwordSetBy(caller), must_change_password: true, handed: true }
  }

  return async function change(
    caller,
    id,
    { password, groups, resourcePolicy, mustChangePassword, ...change },
    origin,
  ) {
    if (password !== undefined) {
      requirePerson(caller)
      requireAnother(caller, id, 'set_password')
    }
    requireMayGivePolicy(caller, resourcePolicy)
    const system = await settings.read()
    const chosen = password === undefined ? {} : await chosenPassword(caller, password)
    // Hashed in advance, because it takes a while, for the case that the password must be replaced.
    const nobodys =
      change.role === undefined && change.domain === undefined
        ? ''
        : await passwords.hash(newPassword(), personAsking(caller.userId))
    const done = await store.transaction(async trx => {
      await lockSuperadmins(trx)
      await requireStillSignedIn(trx, caller)
      const user = requireManaged(caller, await lockUser(trx, id))
      const projects = await listGroupIds(trx, id)
      const moves = (change.domain ?? user.domain) !== user.domain
      // A mapping gives rights in one domain, so they end with the move, not only at the next sign-in at the provider.
      const taken = moves ? await takeBack(trx, user, await listIdentities(trx, id)) : undefined
      if (password !== undefined) requireMaySetPassword(caller, user, system)
      if (mustChangePassword === false && user.must_change_password) requireMayLetStay(caller)
      const { role, domain, active } = { ...(taken?.user ?? user), ...defined(change) }
      requireMayAssign(caller, { role, domain, active }, user)
      if (change.role !== undefined) await keepRole(trx, id)
      if (change.active !== undefined) await forgetDepartures(trx, id)
      if (moves || groups) await replaceGroups(trx, id, { domain, groups })
      const ends = endsWhatOthersKnew(user, { role, domain })
      const passwordEnded = ends && password === undefined && othersMayKnowPassword(user)
      const columns = {
        must_change_password: mustChangePassword,
        resource_policy: resourcePolicy,
        ...chosen,
        ...(passwordEnded ? { ...NOBODYS, password_hash: nobodys } : {}),
      }
      const changed = await withKnownPolicy(resourcePolicy, () =>
        mustFind(updateUser(trx, id, defined({ ...change, ...columns }))),
      )
      const remains = [...(taken?.remains ?? []), ...(ends ? await endKeypairs(trx, id) : [])]
      if (ends) await deleteWaitingKeypairs(trx, id)
      const unlinked = ends || password !== undefined ? await unlinkDoubtful(trx, changed) : undefined
      const held = unlinked?.user ?? changed
      const isUnlinked = unlinked !== undefined && unlinked.unlinked > 0
      if (user.role === 'superadmin') await requireSuperadmin(trx)
      if (id === caller.userId && (!active || role !== user.role || moves)) {
        throw new AppError('forbidden', because('not_yourself'))
      }
      const endsSignIns = !active || role !== user.role || moves || password !== undefined
      const ended = endsSignIns ? await endAccess(trx, user) : []
      const delivery = deliveryOf(caller, user, system, { origin })
      // A link created by this change replaces all earlier ones.
      if (passwordEnded) await deleteEmailTokens(trx, id)
      const link = passwordEnded && active ? await insertPasswordLink(trx, id, delivery.origin) : undefined
      const projectsChanged = projects.join() !== (await listGroupIds(trx, id)).join()
      const passwordSet = password !== undefined
      const all = { before: user, after: changed, passwordSet, passwordEnded, isUnlinked, projectsChanged }
      const news = [...newsOf(caller, all), ...remains, ...(unlinked ? newsOfTaken(unlinked) : [])]
      await notifier.write(trx, news)
      const isOver = passwordEnded || (passwordSet && endsDoubt(user.password_from, changed.password_from))
      const end = isOver ? await endDoubt(trx, notifier, user, held) : undefined
      const own = { ended, news, hasLeftProjects: projectsChanged || role !== user.role || moves }
      return {
        user,
        changed: end?.user ?? held,
        afterCommit: afterCommitOf(taken, unlinked, own, end),
        link,
        delivery,
      }
    })
    const { user, changed, afterCommit, link, delivery } = done
    await logins.settle(id, afterCommit)
    announceAccount(events, changed)
    if (changed.active !== user.active || changed.resource_policy !== user.resource_policy) onChanged?.()
    const passwordLink = link ? sendLink(mailer, delivery, { ...link, purpose: 'reset', email: changed.email }) : null
    return { ...(await toUser(db, changed)), passwordLink }
  }
}
