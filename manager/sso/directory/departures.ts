import { every } from '#base/every'
import { type UserId } from '#manager/contract'
import { type Log } from '../../log.ts'
import {
  findIdentity,
  listLinked,
  noteGone,
  notePresence,
  type SignInIdentityRow,
  type Subject,
} from '../../store/identity/sign-in-identities.ts'
import { countSuperadmins, lockSuperadmins, lockUser, updateUser, type UserRow } from '../../store/identity/users.ts'
import { insertAuditRows } from '../../store/operation/audit-log.ts'
import { toAuditRow } from '../../store/operation/audit-row.ts'
import { type Store } from '../../store/open-store.ts'
import { type AccountNotifier } from '../../users/account-notifier.ts'
import { type AfterCommit, afterCommitOf } from '../../users/after-commit.ts'
import { endAccess } from '../../users/end-access.ts'
import { newsOfTaken, takeBack } from '../../users/take-back.ts'
import { type SignInProviders } from '../providers.ts'
import { type DirectoryAccess, type DirectoryClient } from './client.ts'
import { valueOfSubject } from './entry.ts'
import { presentInVisits } from './in-visits.ts'

const EVERY_MS = 30 * 60_000
/** A person must be missing for this long: a directory that is being moved or restored may answer without some of its people. */
const CONFIRM_MS = 15 * 60_000
/** More newly missing people than this, and more than half of those who were there, are taken for a mistake in the settings or at the directory. */
const MOST_AT_ONCE = 3

export interface DepartureTimings {
  readonly everyMs?: number
  readonly confirmMs?: number
}

export interface DeparturesDeps {
  readonly store: Store
  readonly client: Pick<DirectoryClient, 'present'>
  readonly providers: Pick<SignInProviders, 'directories'>
  readonly notifier: Pick<AccountNotifier, 'write'>
  /** Called after an account has changed. */
  readonly onChanged: (user: UserRow, afterCommit: AfterCommit) => Promise<void>
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly timings?: DepartureTimings | undefined
}

type Step = 'gone' | 'switched off' | 'back'

/**
 * Asks each directory regularly whether it still has the people whose accounts it signs in, because sign-ins, access tokens and keypairs
 * outlive a person's last visit there.
 *
 * An account that was made for a person of the directory, or found by the address, is deactivated when the directory has switched the person
 * off, and when the person is missing for a while; sign-ins end, keypairs and tokens stop working, and sessions keep running, as after an
 * administrator's hand. It becomes active again when the person is back, and only then if the directory had ended it. An account that its owner
 * has linked remains, and loses the rights that groups gave.
 *
 * Threat model: a mistake in a filter, or whoever answers in place of the directory, must not lock everybody out: an answer that misses most
 * of the people who were there changes nothing, a failed question changes nothing, and the last superadmin with a password stays.
 */
export function startDepartures(deps: DeparturesDeps): AsyncDisposable {
  const { store, client, providers, notifier, onChanged, log, timings = {} } = deps
  const { everyMs = EVERY_MS, confirmMs = CONFIRM_MS } = timings

  async function check(access: DirectoryAccess): Promise<void> {
    const { issuer, name } = access.settings
    // People with an identifier that the settings named before cannot be asked about: they are not missing.
    const linked = (await listLinked(store.db, issuer)).filter(
      ({ subject }) => valueOfSubject(subject, access.settings.directory) !== undefined,
    )
    if (linked.length === 0) return
    const there = await presentInVisits(
      client,
      access,
      linked.map(({ subject }) => subject),
    )
    const missing = linked.filter(({ subject }) => there.get(subject) !== 'on')
    // People who have left count no more: over the years they would become most of all, and then nobody could leave.
    const isNew = (one: (typeof linked)[number]) => one.gone_at === null && !one.deactivated
    const [lost, known] = [missing.filter(isNew), linked.filter(isNew)]
    if (lost.length > MOST_AT_ONCE && lost.length * 2 > known.length) {
      const counts = { missing: lost.length, linked: known.length }
      log.warn(
        { provider: name, ...counts },
        'a directory misses most of its people, so nobody is deactivated: test it',
      )
      return
    }
    const absent = missing.filter(({ subject }) => !there.has(subject))
    await noteGone(
      store.db,
      issuer,
      absent.filter(one => one.gone_at === null).map(({ subject }) => subject),
    )
    const confirmed = absent.filter(({ gone_at: at }) => at !== null && store.now() - at.getTime() >= confirmMs)
    const steps: [Step, (typeof linked)[number]][] = [
      ...confirmed.map(one => ['gone', one] as [Step, typeof one]),
      ...missing.filter(({ subject }) => there.has(subject)).map(one => ['switched off', one] as [Step, typeof one]),
      ...linked
        .filter(one => there.get(one.subject) === 'on' && (one.gone_at !== null || one.deactivated))
        .map(one => ['back', one] as [Step, typeof one]),
    ]
    for (const [step, { subject, user_id }] of steps) await take(step, { issuer, subject }, user_id, name)
  }

  async function take(step: Step, subject: Subject, userId: UserId, provider: string): Promise<void> {
    const done = await store.transaction(async trx => {
      await lockSuperadmins(trx)
      const user = await lockUser(trx, userId)
      const identity = await findIdentity(trx, subject)
      if (!user || !identity || identity.user_id !== userId) return undefined
      // Another manager has found the person there meanwhile.
      if (step === 'gone' && identity.gone_at === null) return undefined
      if (step === 'back') {
        await notePresence(trx, subject, { isThere: true, deactivated: false })
        if (!identity.deactivated || user.active) return undefined
        const changed = await updateUser(trx, userId, { active: true })
        await insertAuditRows(trx, [rowOf('directoryReturned', user, { provider })])
        return changed && { user: changed, afterCommit: afterCommitOf() }
      }
      const isLast = user.role === 'superadmin' && user.password_set && (await countSuperadmins(trx)) <= 1
      const ends = identity.owns && user.active && !isLast
      const hasRights = identity.given_groups.length > 0 || identity.given_role !== null
      if (!ends && !hasRights) return undefined
      const taken = await takeBack(trx, user, [identity])
      const news = newsOfTaken(taken)
      await notifier.write(trx, news)
      const ended = ends ? await endAccess(trx, taken.user) : []
      const changed = ends ? await updateUser(trx, userId, { active: false }) : taken.user
      await notePresence(trx, subject, { isThere: false, deactivated: ends || keptMark(identity, user) })
      const detail = {
        provider,
        why: step,
        deactivated: ends,
        ...(isLast ? { kept: 'last superadmin with a password' } : {}),
      }
      await insertAuditRows(trx, [rowOf('directoryDeparted', user, detail)])
      const hasLeftProjects = taken.projects.length > 0 || taken.role !== null
      return changed && { user: changed, afterCommit: afterCommitOf(taken, { ended, news, hasLeftProjects }) }
    })
    if (!done) return
    log.info({ user: userId, provider, step }, 'an account follows its person in the directory')
    await onChanged(done.user, done.afterCommit)
  }

  async function round(): Promise<void> {
    for (const access of await providers.directories()) {
      // Without an account that searches, nobody can be asked about (ADR 102).
      if (access.password === null) continue
      await check(access).catch((error: unknown) => {
        log.warn({ err: error, provider: access.settings.name }, 'a directory could not be asked about its people')
      })
    }
  }

  const repeated = every(everyMs, round, error => {
    log.error({ err: error }, 'directories could not be asked about their people; they are asked again')
  })
  void repeated.now()
  return repeated
}

/** An account that is inactive already keeps the mark of who deactivated it. */
const keptMark = (identity: SignInIdentityRow, user: UserRow) => identity.deactivated && !user.active

const rowOf = (
  action: 'directoryDeparted' | 'directoryReturned',
  { email, role, domain }: UserRow,
  detail: Readonly<Record<string, string | boolean>>,
  // As for requests: entries about a superadmin are hidden from the admins of the domain.
) => toAuditRow({ action, result: 'ok', target: email, domain: role === 'superadmin' ? null : domain, detail })
