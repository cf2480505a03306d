import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import {
  AppError,
  because,
  ERRORS,
  isAppError,
  toWireError,
  type UserImportOutcome,
  type UserImportReply,
  type UserImportRow,
  type UserImportSpec,
  userSpecOf,
  UserSpec,
} from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type Mailer } from '../mail/mailer.ts'
import { accountMail } from '../mail/texts.ts'
import { type Settings } from '../settings/settings.ts'
import { type Store } from '../store/open-store.ts'
import { findAccount } from '../store/operation/audit-log.ts'
import { type Db } from '../store/schema.ts'
import { type AccountWithToken, insertAccountWithLink, passwordLink } from './account-with-link.ts'
import { administers, type Caller, isSuperadmin, requireMayAssign } from './authorize.ts'
import { type LinkDelivery, deliveryOf } from './links-for-others.ts'
import { requireStillSignedIn } from './still-authorized.ts'
import { type Passwords, personAsking } from './passwords.ts'
import { newPassword } from './secrets.ts'
import { type News, type AccountNotifier } from './account-notifier.ts'

/**
 * Creates the accounts in a file of users. Each row succeeds or is refused on its own; existing accounts are not changed, so the same file
 * may be imported again.
 *
 * Threat model: the caller gets no rights that `POST /users` does not give. Nobody knows the first password of an account: its owner sets
 * one with a link that works once, for a week, and is stored only as a hash. The link is mailed if mail reaches the person; superadmins may
 * receive it instead (ADR 59). Each person is informed who created the account.
 *
 * A dry run leaves nothing that anybody would notice, so it must not say which addresses have accounts in domains that the caller does not
 * administer: they count as free there. An import says it, as `POST /users` does, and the accounts that it makes tell on whoever tries.
 */
export interface UserImports {
  /**
   * @param origin address at which the admin uses the console, for the links
   * @throws AppError `mail_not_configured`
   */
  run(caller: Caller, spec: UserImportSpec, origin: string): Promise<UserImportReply>
}

export interface UserImportDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly settings: Settings
  readonly mailer: Mailer
  readonly events: EventPublisher
  readonly notifier: AccountNotifier
}

type Made = AccountWithToken & { readonly delivery: LinkDelivery }

export function createUserImports(deps: UserImportDeps): UserImports {
  const { store, passwords, settings, mailer, events, notifier } = deps

  async function makeAccount(
    trx: Db,
    caller: Caller,
    row: UserImportRow,
    {
      passwordHash,
      deliveryTo,
    }: { readonly passwordHash: string; readonly deliveryTo: (email: string) => LinkDelivery },
  ): Promise<Made> {
    const { domain = caller.domain, ...spec } = parseRow(row)
    requireMayAssign(caller, { role: spec.role, domain, active: true })
    const delivery = deliveryTo(spec.email)
    const { origin } = delivery
    return { delivery, ...(await insertAccountWithLink(trx, { ...spec, domain, password_hash: passwordHash, origin })) }
  }

  return {
    async run(caller, { rows, dryRun, mail }, origin) {
      const system = await settings.read()
      const { publicUrl, mailReady } = system
      if (mail && (!mailReady || publicUrl === null)) {
        throw new AppError('mail_not_configured', because('import_without_mail'))
      }
      const inHand = !mail && isSuperadmin(caller)
      const deliveryTo = (email: string) => deliveryOf(caller, { email }, system, { origin, inHand })
      // All accounts get the same password, which is discarded: hashing one for each row would take seconds.
      const passwordHash = await passwords.hash(newPassword(), personAsking(caller.userId))
      const results = await inTransaction(store, { undo: dryRun }, async trx => {
        await requireStillSignedIn(trx, caller)
        const done: (Made | AppError)[] = []
        const free = dryRun ? await freeInDryRun(trx, caller, rows) : new Map<UserImportRow, UserImportRow>()
        for (const row of rows) {
          const tried = free.get(row) ?? row
          done.push(await alone(trx, () => makeAccount(trx, caller, tried, { passwordHash, deliveryTo })))
        }
        await notifier.write(trx, newsOf(caller, done))
        return done
      })
      const items = results.map((result, index): UserImportOutcome => {
        const email = rows[index]?.email ?? ''
        if (isAppError(result)) return { ...NOTHING, email, ...refusalOf(result) }
        const { user, delivery } = result
        if (dryRun) return { ...NOTHING, email: email.trim().toLowerCase(), outcome: 'created' }
        const { url, expiresAt } = passwordLink(delivery.base, result)
        events.publish({ topic: 'user', id: user.id, version: user.version }, { userId: user.id, domain: user.domain })
        if (delivery.mailed) mailer.post(accountMail(user.email, { by: caller.email, url }))
        const link = delivery.mailed ? null : { url, expiresAt }
        return { ...NOTHING, email: user.email, outcome: 'created', id: user.id, link }
      })
      // A mailed link already informs the person.
      const inHands = results.filter(result => !isAppError(result) && !result.delivery.mailed)
      if (!dryRun) await notifier.announce(newsOf(caller, inHands))
      return { items, dryRun }
    },
  }
}

/**
 * The rows of a dry run whose address has an account that the caller does not manage, with another address in its place, which nobody has:
 * so everything else about the row is checked as for a new account. Equal addresses have an equal one.
 */
async function freeInDryRun(trx: Db, caller: Caller, rows: readonly UserImportRow[]) {
  const stand = new Map<string, string>()
  const free = new Map<UserImportRow, UserImportRow>()
  for (const row of rows) {
    const email = row.email.trim().toLowerCase()
    const account = await findAccount(trx, email.replaceAll('\0', ''))
    if (!account || administers(caller, account.domain)) continue
    const other = stand.get(email) ?? `${randomUUID()}@example.invalid`
    stand.set(email, other)
    free.set(row, { ...row, email: other })
  }
  return free
}

function newsOf(by: Caller, results: readonly (Made | AppError)[]): News[] {
  return results.flatMap(made => (isAppError(made) ? [] : [{ userId: made.user.id, by, kind: 'account_made' }]))
}

const NOTHING = { id: null, link: null, error: null } as const

function refusalOf(error: AppError): Pick<UserImportOutcome, 'outcome' | 'error'> {
  if (error.code === 'user_exists') return { outcome: 'exists', error: null }
  return { outcome: 'refused', error: toWireError(error) }
}

/** @throws AppError `bad_request` that names the column */
function parseRow(row: UserImportRow): Omit<UserSpec, 'password' | 'mustChangePassword'> {
  const parsed = UserSpec.omit({ password: true, mustChangePassword: true }).safeParse(userSpecOf(row))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const column = String(issue?.path[0] ?? 'row')
  const text = issue?.message ?? ERRORS.bad_request.title
  throw new AppError(
    'bad_request',
    because('import_column', { column: column === 'groups' ? 'projects' : column, text }),
  )
}

/** Runs one step of a transaction on its own: if it throws an AppError, its changes are undone and the error is returned. */
async function alone<T>(trx: Db, step: () => Promise<T>): Promise<T | AppError> {
  await sql`savepoint import_row`.execute(trx)
  try {
    const value = await step()
    await sql`release savepoint import_row`.execute(trx)
    return value
  } catch (error) {
    if (!isAppError(error)) throw error
    await sql`rollback to savepoint import_row`.execute(trx)
    return error
  }
}

/** @param options.undo undoes everything at the end: the work was only a check */
async function inTransaction<T>(
  store: Store,
  { undo }: { readonly undo: boolean },
  work: (trx: Db) => Promise<T>,
): Promise<T> {
  if (!undo) return store.transaction(work)
  const outcome: { value?: T } = {}
  const TAKE_BACK = new Error('a dry run is taken back')
  await store
    .transaction(async trx => {
      outcome.value = await work(trx)
      throw TAKE_BACK
    })
    .catch((error: unknown) => {
      if (error !== TAKE_BACK) throw error
    })
  return outcome.value as T
}
