import { every } from '#base/every'
import { inTurn } from '#base/in-turn'
import { SignInProviderSettings } from '#manager/contract'
import { type Log } from '../log.ts'
import { type Settings } from '../settings/settings.ts'
import { findGroups } from '../store/identity/groups.ts'
import {
  type LinkedAccount,
  listIdentities,
  listLapsed,
  listUnjudged,
  noteJudged,
  type SignInIdentityRow,
} from '../store/identity/sign-in-identities.ts'
import { findSignInProvider } from '../store/identity/sign-in-providers.ts'
import { lockSuperadmins, lockUser, type UserRow } from '../store/identity/users.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { type Left, newsOfTaken, NOTHING_LEFT, takeBack, type TakenBack } from '../users/take-back.ts'
import { type AccountNotifier } from '../users/account-notifier.ts'
import { allOf, servesDomain } from './mapping.ts'

export interface Withdrawals extends AsyncDisposable {
  /**
   * Withdraws rights that mappings no longer give, because the mapping has changed or its provider is gone. Never rejects: a later round
   * continues where this one failed.
   */
  catchUp(): Promise<void>
}

export interface WithdrawalsDeps {
  readonly store: Store
  readonly settings: Pick<Settings, 'read'>
  readonly notifier: Pick<AccountNotifier, 'write' | 'announce'>
  /** Called when an account has lost rights of a mapping. */
  readonly onTaken: (taken: TakenBack) => Promise<void>
  readonly log: Pick<Log, 'info' | 'error'>
  readonly everyMs?: number | undefined
}

const EVERY_MS = 10 * 60_000
/** Number of accounts in one transaction, during which sign-ins at providers and changes of these accounts wait. */
const ACCOUNTS_AT_ONCE = 25

type Read = (trx: Db, page: { after: LinkedAccount | undefined; limit: number }) => Promise<LinkedAccount[]>
type Judge = (user: UserRow, identity: SignInIdentityRow) => Promise<Left>

/**
 * Withdraws rights of a mapping outside of sign-ins at the provider: after a change of the mapping, and for accounts that have not signed
 * in there for `mappingDays`. A lost group is only noticed at a sign-in there, so a person who signs in by other ways would keep the right
 * for ever.
 *
 * A provider may have given rights to any number of accounts. They are checked against the present mapping, a few per transaction, so that
 * nobody waits for all of them. The database knows which are still to be checked, so after an interruption the next round of any manager
 * continues.
 */
export function startWithdrawals(deps: WithdrawalsDeps): Withdrawals {
  const { store, settings, notifier, onTaken, log, everyMs = EVERY_MS } = deps

  let isStopped = false

  async function inBatches(read: Read, judgeIn: (trx: Db) => Judge): Promise<void> {
    let after: LinkedAccount | undefined
    do {
      const { taken, last } = await store.transaction(trx => withdrawSome(trx, { read, judge: judgeIn(trx), after }))
      if (taken.length > 0)
        log.info({ users: taken.map(({ user }) => user.id) }, 'rights by groups of sign-in providers were taken back')
      await inTurn([
        ...taken.map(one => () => onTaken(one)),
        () => notifier.announce(taken.flatMap(newsOfTaken)),
      ]).catch(complain)
      after = last
    } while (after && !isStopped)
  }

  /** @returns the last account of a full batch */
  async function withdrawSome(
    trx: Db,
    { read, judge, after }: { read: Read; judge: Judge; after: LinkedAccount | undefined },
  ): Promise<{ readonly taken: readonly TakenBack[]; readonly last?: LinkedAccount | undefined }> {
    const page = { after, limit: ACCOUNTS_AT_ONCE }
    if ((await read(trx, page)).length === 0) return { taken: [] }
    await lockSuperadmins(trx)
    // Read again, because somebody may have signed in while we waited for the lock.
    const linked = await read(trx, page)
    const all: TakenBack[] = []
    for (const one of linked) {
      const user = await lockUser(trx, one.user_id)
      const identity = (await listIdentities(trx, one.user_id)).find(({ issuer }) => issuer === one.issuer)
      if (user && identity) all.push(await takeBack(trx, user, [identity], await judge(user, identity)))
      await noteJudged(trx, one)
    }
    const taken = all.filter(({ projects, role }) => projects.length > 0 || role !== null)
    await notifier.write(trx, taken.flatMap(newsOfTaken))
    return { taken, last: linked.length === ACCOUNTS_AT_ONCE ? linked.at(-1) : undefined }
  }

  function complain(error: unknown): void {
    log.error({ err: error }, 'rights by groups of sign-in providers could not be taken back; they are tried again')
  }

  const catchUp = () => inBatches(listUnjudged, judgeByProviders)
  async function lapse(): Promise<void> {
    const { mappingDays } = await settings.read()
    await inBatches(
      (trx, page) => listLapsed(trx, mappingDays, page),
      () => () => Promise.resolve(NOTHING_LEFT),
    )
  }
  const repeated = every(everyMs, () => inTurn([catchUp, lapse]), complain)
  void repeated.now()
  return {
    catchUp: () => catchUp().catch(complain),
    async [Symbol.asyncDispose]() {
      isStopped = true
      await repeated[Symbol.asyncDispose]()
    },
  }
}

/** Judges by the present mappings of the providers. Call under `lockSuperadmins`, under which they change. */
function judgeByProviders(trx: Db): Judge {
  const known = new Map<string, Promise<(Left & { readonly settings: SignInProviderSettings }) | undefined>>()

  async function read(id: string) {
    const row = await findSignInProvider(trx, id)
    if (!row) return undefined
    const settings = SignInProviderSettings.parse(row.settings)
    const { projects, roles } = allOf(settings.mapping)
    return { settings, roles, groups: (await findGroups(trx, settings.domain, projects)).map(group => group.id) }
  }

  return async (user, { given_by, issuer }) => {
    if (given_by === null) return NOTHING_LEFT
    const provider = known.get(given_by) ?? read(given_by)
    known.set(given_by, provider)
    const left = await provider
    if (!left) return NOTHING_LEFT
    const { settings, ...rights } = left
    const gives = settings.issuer === issuer && settings.groupsClaim !== null && servesDomain(settings, user.domain)
    return gives ? rights : NOTHING_LEFT
  }
}
