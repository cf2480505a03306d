import { every } from '#base/every'
import { type UserId } from '#manager/contract'
import { type Log } from '../log.ts'
import { type Settings } from '../settings/settings.ts'
import { listIdentities, listLapsed } from '../store/identity/sign-in-identities.ts'
import { lockSuperadmins, lockUser } from '../store/identity/users.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { type Left, newsOfTaken, takeBack, type TakenBack } from '../users/take-back.ts'
import { type News, type Telling } from '../users/telling.ts'

export interface Withdrawn {
  /** Accounts that have lost something. */
  readonly taken: readonly TakenBack[]
  readonly news: readonly News[]
}

/** A linked account, by its owner. */
interface Linked {
  readonly user_id: UserId
  readonly issuer: string
}

/**
 * Takes back what a mapping gave by these linked accounts, which stay linked. Call under `lockSuperadmins`.
 *
 * @param left what stays
 */
export async function withdraw(
  trx: Db,
  telling: Pick<Telling, 'write'>,
  linked: readonly Linked[],
  left?: Left,
): Promise<Withdrawn> {
  const all: TakenBack[] = []
  for (const { user_id, issuer } of linked) {
    const user = await lockUser(trx, user_id)
    const identities = (await listIdentities(trx, user_id)).filter(one => one.issuer === issuer)
    if (user) all.push(await takeBack(trx, user, identities, left))
  }
  const taken = all.filter(({ projects, role }) => projects.length > 0 || role !== null)
  const news = taken.flatMap(newsOfTaken)
  await telling.write(trx, news)
  return { taken, news }
}

const EVERY_MS = 10 * 60_000
const USERS_AT_ONCE = 200

export interface LapsesDeps {
  readonly store: Store
  readonly settings: Pick<Settings, 'read'>
  readonly telling: Pick<Telling, 'write' | 'announce'>
  readonly onTaken: (taken: TakenBack) => Promise<void>
  readonly log: Log
  readonly everyMs?: number | undefined
}

/**
 * Takes back what a mapping gave people who have not signed in at the provider for `mappingDays`: a group that they have lost there is
 * seen at a sign-in only, and whoever signs in by other ways would keep the right for ever. Every manager runs this.
 */
export function startLapses(deps: LapsesDeps): AsyncDisposable {
  const { store, settings, telling, onTaken, log, everyMs = EVERY_MS } = deps
  return every(
    everyMs,
    async () => {
      const { mappingDays } = await settings.read()
      const { taken, news } = await store.transaction(async trx => {
        const lapsed = await listLapsed(trx, mappingDays, USERS_AT_ONCE)
        if (lapsed.length === 0) return { taken: [], news: [] }
        await lockSuperadmins(trx)
        // Read again: somebody may have signed in while the lock was awaited.
        return withdraw(trx, telling, await listLapsed(trx, mappingDays, USERS_AT_ONCE))
      })
      for (const one of taken) await onTaken(one)
      await telling.announce(news)
      if (taken.length > 0)
        log.info({ users: taken.map(({ user }) => user.id) }, 'rights by groups of sign-in providers have lapsed')
    },
    error => log.error({ err: error }, 'rights by groups of sign-in providers could not be taken back'),
  )
}
