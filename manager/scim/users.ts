import { z } from 'zod'
import { cleanLine } from '#base/clean-text'
import { Email, isAppError, UserId } from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { listGroupsOf } from '../store/identity/groups.ts'
import {
  countScimUsers,
  findHidden,
  isUserNameTaken,
  listScimUsers,
  putScimUser,
  type ScimUserNote,
  type ScimUserRow,
} from '../store/identity/scim.ts'
import { forgetDepartures } from '../store/identity/sign-in-identities.ts'
import { lockUser, updateUser, type UserRow } from '../store/identity/users.ts'
import { insertAuditRows } from '../store/operation/audit-log.ts'
import { toAuditRow } from '../store/operation/audit-row.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { isUniqueViolation } from '../store/violations.ts'
import { insertAccount } from '../users/accounts.ts'
import { type AccountNotifier, type News } from '../users/account-notifier.ts'
import { endAccess } from '../users/end-access.ts'
import { type Logins } from '../users/logins.ts'
import { type Passwords, strangerAt } from '../users/passwords.ts'
import { newPassword } from '../users/secrets.ts'
import { equalityOf, type Filter, fits } from './filter.ts'
import { type Found, partOf, type Wanted } from './list.ts'
import { type Doc, patched } from './patch.ts'
import { readResource } from './read-resource.ts'
import { invalid, notFound, ScimError } from './scim-error.ts'
import { requireStillClient, type ScimClient } from './tokens.ts'

export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User'

const text = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^\P{Cc}*$/u)
const maybe = (most: number) => text(most).nullish()
/** Clients send booleans as texts, Entra ID with a capital. */
const Flag = z.union([
  z.boolean(),
  z.stringFormat('boolean', /^(true|false)$/i).transform(said => said.toLowerCase() === 'true'),
])

/** The attributes of a user that Berth keeps; anything else is ignored, as RFC 7643 allows. */
const Given = z.object({
  userName: text(254).min(1),
  externalId: maybe(254),
  displayName: maybe(200),
  name: z
    .object({ formatted: maybe(200), familyName: maybe(200), givenName: maybe(200), middleName: maybe(200) })
    .nullish(),
  active: Flag.nullish(),
  emails: z
    .array(z.object({ value: text(254), type: maybe(50), primary: Flag.nullish() }))
    .max(20)
    .nullish(),
})
type Given = z.infer<typeof Given>

export interface ScimUsersDeps {
  readonly store: Store
  readonly passwords: Pick<Passwords, 'hash'>
  readonly logins: Pick<Logins, 'settle'>
  readonly notifier: Pick<AccountNotifier, 'write'>
  readonly events: EventPublisher
  /** Called after accounts were activated or deactivated: their waiting sessions may start, or not any more. */
  readonly onChanged: () => void
}

/**
 * Accounts as resources of SCIM, RFC 7643 section 4.1.
 *
 * A client sees the accounts of the token's domain, but those of superadmins. It makes accounts without a password, renames, deactivates and
 * activates them, and notes its own names. It gives no role, no password and no other address: with these it could get into an account. A
 * deleted account is deactivated, because accounts keep their history, and is out of the client's sight; made again, it comes back.
 */
export interface ScimUsers {
  list(client: ScimClient, filter: Filter | undefined, wanted: Omit<Wanted, 'withMembers'>): Promise<Found>
  /** @throws ScimError */
  get(client: ScimClient, id: string): Promise<Doc>
  create(client: ScimClient, body: unknown): Promise<Doc>
  replace(client: ScimClient, id: string, body: unknown): Promise<Doc>
  patch(client: ScimClient, id: string, body: unknown): Promise<Doc>
  remove(client: ScimClient, id: string): Promise<void>
}

export function createScimUsers(deps: ScimUsersDeps): ScimUsers {
  const { store, passwords, logins, notifier, events, onChanged } = deps
  const { db } = store

  async function docs(rows: readonly ScimUserRow[]): Promise<Doc[]> {
    const groups = await listGroupsOf(
      db,
      rows.map(({ id }) => id),
    )
    return rows.map(row => toDoc(row, groups.get(row.id) ?? []))
  }

  async function row({ domain }: ScimClient, id: string, from: Db = db): Promise<ScimUserRow> {
    const [found] = await listScimUsers(from, domain, { attribute: 'id', value: id.toLowerCase() })
    if (!found) throw notFound('user')
    return found
  }

  const get = async (client: ScimClient, id: string): Promise<Doc> => {
    const [doc] = await docs([await row(client, id)])
    if (!doc) throw notFound('user')
    return doc
  }

  /** Writes what a client says of an account. @returns the account, and whether it was activated or deactivated */
  async function write(trx: Db, client: ScimClient, user: UserRow, { given, hidden }: Change): Promise<Written> {
    const userName = given.userName.trim()
    if (await isUserNameTaken(trx, client.domain, userName, user.id)) throw taken()
    await putScimUser(trx, user.id, client.domain, noteOf(given, userName, hidden))
    const active = !hidden && (given.active ?? user.active)
    const changed = (await updateUser(trx, user.id, { active, name: nameOf(given, user.name) })) ?? user
    // The client decides: a directory that has its person again does not change that.
    if (hidden || typeof given.active === 'boolean') await forgetDepartures(trx, user.id)
    const ended = user.active && !active ? await endAccess(trx, user) : []
    const by = { userId: NOBODY, email: `SCIM: ${client.name}` }
    const news: News[] = [
      ...(user.active === active
        ? []
        : [{ userId: user.id, by, kind: active ? ('account_activated' as const) : ('account_deactivated' as const) }]),
      ...(user.name === changed.name ? [] : [{ userId: user.id, by, kind: 'account_changed' as const }]),
    ]
    await notifier.write(trx, news)
    return { user: changed, ended, news, turned: user.active !== active }
  }

  async function change(client: ScimClient, id: string, step: (before: Doc) => Given | null): Promise<void> {
    const written = await store
      .transaction(async trx => {
        // Locked before it is read: two requests at a time must not undo each other, and the account may have moved.
        const user = UserId.safeParse(id).success ? await lockUser(trx, id.toLowerCase() as UserId) : undefined
        await requireStillClient(trx, client)
        const [before] = await docs([await row(client, id, trx)])
        if (!before || !user || user.domain !== client.domain || user.role === 'superadmin') throw notFound('user')
        const given = step(before)
        const kept = given ?? readUser(before)
        const done = await write(trx, client, user, { given: kept, hidden: given === null })
        await insertAuditRows(trx, [auditOf(client, given === null ? 'scimDeleteUser' : 'scimChangeUser', done)])
        return done
      })
      .catch((error: unknown) => {
        throw isUniqueViolation(error, 'scim_users_name') ? taken() : error
      })
    await announce(written)
  }

  async function announce({ user, ended, news, turned }: Written): Promise<void> {
    events.publish({ topic: 'user', id: user.id, version: user.version }, { userId: user.id, domain: user.domain })
    await logins.settle(user.id, { ended, news, hasLeftProjects: false })
    if (turned) onChanged()
  }

  return {
    async list({ domain }, filter, wanted) {
      const by = equalityOf(filter, ['username', 'externalid', 'id'] as const)
      if (!filter || by) {
        const [total, rows] = await Promise.all([countScimUsers(db, domain, by), listScimUsers(db, domain, by, wanted)])
        return { total, resources: await docs(rows) }
      }
      const found = (await docs(await listScimUsers(db, domain, undefined))).filter(doc => fits(filter, doc))
      return { total: found.length, resources: partOf(found, wanted) }
    },

    get,

    async create(client, body) {
      const given = readUser(body)
      const email = addressOf(given)
      const password_hash = await passwords.hash(newPassword(), strangerAt('', `scim:${client.id}`))
      const written = await store
        .transaction(async trx => {
          const hidden = await findHidden(trx, client.domain, email)
          const user = hidden
            ? await lockHidden(trx, client, hidden.id, email)
            : await insertAccount(trx, {
                ...{ email, role: 'user', domain: client.domain, password_hash, password_set: false },
                name: nameOf(given, email.split('@')[0] ?? email),
              })
          if (!user || user.role === 'superadmin') throw taken()
          await requireStillClient(trx, client)
          const done = await write(trx, client, user, {
            given: { ...given, active: given.active ?? true },
            hidden: false,
          })
          await insertAuditRows(trx, [auditOf(client, 'scimCreateUser', done)])
          return done
        })
        .catch((error: unknown) => {
          throw (isAppError(error) && error.code === 'user_exists') || isUniqueViolation(error, 'scim_users_name')
            ? taken()
            : error
        })
      await announce(written)
      return get(client, written.user.id)
    },

    async replace(client, id, body) {
      const given = readUser(body)
      await change(client, id, () => given)
      return get(client, id)
    },

    async patch(client, id, body) {
      // Without the state that the account has: what is there afterwards, the client said.
      await change(client, id, ({ active: _, ...others }) => readUser(patched(others, body)))
      return get(client, id)
    },

    remove: (client, id) => change(client, id, () => null),
  }
}

/**
 * Locks a deleted account, and looks for it once more: meanwhile it may have been moved to another domain, or another request may have made it
 * again.
 */
async function lockHidden(trx: Db, { domain }: ScimClient, id: UserId, email: string): Promise<UserRow | undefined> {
  const user = await lockUser(trx, id)
  return (await findHidden(trx, domain, email))?.id === id ? user : undefined
}

/** No person: the change is a client's. */
const NOBODY = '00000000-0000-0000-0000-000000000000' as UserId

interface Change {
  /** Without `active`, the account stays as it is. */
  readonly given: Given
  readonly hidden: boolean
}

interface Written {
  readonly user: UserRow
  readonly ended: readonly string[]
  readonly news: readonly News[]
  readonly turned: boolean
}

const taken = () => new ScimError(409, 'Another account has this userName or address.', 'uniqueness')

const readUser = (body: unknown): Given => readResource(Given, body)

/** The address of a new account: the primary one, the first, or the userName. */
function addressOf({ emails, userName }: Given): string {
  const said = emails?.find(({ primary }) => primary)?.value ?? emails?.[0]?.value ?? userName
  const email = Email.safeParse(said.trim())
  if (!email.success) throw invalid('A user needs an e-mail address, in emails or as userName.')
  return email.data.toLowerCase()
}

function nameOf({ displayName, name }: Given, otherwise: string): string {
  const whole = [name?.givenName, name?.familyName].filter(Boolean).join(' ')
  for (const said of [displayName, name?.formatted, whole]) {
    const line = cleanLine(said ?? '', 64).trim()
    if (line !== '') return line
  }
  return otherwise.slice(0, 64)
}

const noteOf = ({ externalId, displayName, name, emails }: Given, userName: string, hidden: boolean): ScimUserNote => ({
  userName,
  externalId: externalId ?? null,
  attributes: { ...(displayName ? { displayName } : {}), ...(name ? { name } : {}), ...(emails ? { emails } : {}) },
  hidden,
})

function toDoc(row: ScimUserRow, groups: readonly { readonly id: string; readonly name: string }[]): Doc {
  const { name, displayName = row.name, emails } = (row.attributes ?? {}) as Partial<Given>
  return {
    schemas: [USER_SCHEMA],
    id: row.id,
    ...(row.external_id === null ? {} : { externalId: row.external_id }),
    userName: row.user_name,
    displayName,
    name: name ?? { formatted: row.name },
    active: row.active,
    emails: emails ?? [{ value: row.email, type: 'work', primary: true }],
    groups: groups.map(({ id, name: display }) => ({ value: id, display, type: 'direct' })),
    meta: {
      resourceType: 'User',
      created: row.created_at.toISOString(),
      lastModified: (row.changed_at ?? row.created_at).toISOString(),
      version: `W/"${row.version}"`,
    },
  }
}

const auditOf = (
  client: ScimClient,
  action: 'scimCreateUser' | 'scimChangeUser' | 'scimDeleteUser',
  { user, turned }: Written,
) =>
  toAuditRow({
    action,
    result: 'ok',
    actor: `SCIM: ${client.name}`,
    domain: client.domain,
    target: user.email,
    detail: { scimToken: client.id, ...(turned ? { active: user.active } : {}) },
  })
