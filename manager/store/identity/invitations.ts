import { type Selectable, sql } from 'kysely'
import { type UserId } from '#manager/contract'
import { type Db, type Database } from '../schema.ts'
import { accountHolds } from './users.ts'

/** `maker`: address of its maker; `entitled`: whether the maker may invite into the domain now; `expired`: whether it has expired. */
export type InvitationRow = Omit<Selectable<Database['invitations']>, 'token_hash' | 'created_by'> & {
  readonly maker: string | null
  readonly entitled: boolean
  readonly expired: boolean
}

const COLUMNS = ['id', 'domain', 'note', 'created_at', 'expires_at', 'used_at', 'used_by'] as const
const expired = sql<boolean>`invitations.expires_at <= now()`
/** Same rule as `administers`, applied to the maker's current account. */
const entitled = sql<boolean>`exists (
  select from users maker where maker.id = invitations.created_by and ${accountHolds('maker')}
    and (maker.role = 'superadmin' or (maker.role = 'domain_admin' and maker.domain = invitations.domain)))`
const maker = sql<string | null>`(select email from users maker where maker.id = invitations.created_by)`
const STATE = [maker.as('maker'), entitled.as('entitled'), expired.as('expired')] as const

export async function insertInvitation(
  db: Db,
  invitation: {
    readonly id: string
    readonly tokenHash: Buffer
    readonly domain: string
    readonly note: string
    readonly createdBy: UserId
    readonly days: number
  },
): Promise<InvitationRow> {
  const { id, tokenHash, domain, note, createdBy, days } = invitation
  return db
    .insertInto('invitations')
    .values({
      id,
      token_hash: tokenHash,
      domain,
      note,
      created_by: createdBy,
      expires_at: sql<Date>`now() + make_interval(days => ${days})`,
    })
    .returning([...COLUMNS, ...STATE])
    .executeTakeFirstOrThrow()
}

/** Newest first. @param page `domain`: only invitations to this domain; `before`: the last id of the previous page */
export function listInvitations(
  db: Db,
  { domain, limit, before }: { domain: string | undefined; limit: number; before: string | undefined },
): Promise<InvitationRow[]> {
  let query = db
    .selectFrom('invitations')
    .select([...COLUMNS, ...STATE])
    .orderBy('id', 'desc')
    .limit(limit)
  if (domain !== undefined) query = query.where('domain', '=', domain)
  if (before !== undefined) query = query.where('id', '<', before)
  return query.execute()
}

/** Deletes an unused invitation. @returns whether it existed */
export async function deleteInvitation(db: Db, id: string, domain: string | undefined): Promise<boolean> {
  let query = db.deleteFrom('invitations').where('id', '=', id).where('used_at', 'is', null)
  if (domain !== undefined) query = query.where('domain', '=', domain)
  return (await query.executeTakeFirst()).numDeletedRows === 1n
}

/**
 * Finds an open invitation whose maker may still invite, and locks it: nobody else can use it until the transaction ends. Rights are
 * read when they are used (ADR 60).
 */
export function holdInvitation(trx: Db, tokenHash: Buffer): Promise<{ id: string; domain: string } | undefined> {
  return trx
    .selectFrom('invitations')
    .select(['id', 'domain'])
    .where('token_hash', '=', tokenHash)
    .where('used_at', 'is', null)
    .where(sql<boolean>`not ${expired}`)
    .where(entitled)
    .forUpdate()
    .executeTakeFirst()
}

export async function markInvitationUsed(trx: Db, id: string, usedBy: UserId): Promise<void> {
  await trx
    .updateTable('invitations')
    .set({ used_at: sql<Date>`now()`, used_by: usedBy })
    .where('id', '=', id)
    .execute()
}

/** Whether the account was created by an invitation. */
export async function wasInvited(db: Db, userId: UserId): Promise<boolean> {
  const query = db.selectFrom('invitations').select('id').where('used_by', '=', userId)
  return (await query.executeTakeFirst()) !== undefined
}
