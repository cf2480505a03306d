import { type Selectable, sql } from 'kysely'
import { type UserId } from '#manager/contract'
import { type Db, type Database } from '../schema.ts'

export type InvitationRow = Omit<Selectable<Database['invitations']>, 'token_hash'> & { readonly open: boolean }

const COLUMNS = ['id', 'domain', 'note', 'created_by', 'created_at', 'expires_at', 'used_at', 'used_by'] as const
const open = sql<boolean>`used_at is null and expires_at > now()`

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
    .returning([...COLUMNS, open.as('open')])
    .executeTakeFirstOrThrow()
}

/** Newest first. @param page `domain`: only invitations to this domain; `before`: the last id of the previous page */
export function listInvitations(
  db: Db,
  { domain, limit, before }: { domain: string | undefined; limit: number; before: string | undefined },
): Promise<InvitationRow[]> {
  let query = db
    .selectFrom('invitations')
    .select([...COLUMNS, open.as('open')])
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

/** Finds an open invitation and locks it: nobody else can use it until the transaction ends. */
export function holdInvitation(trx: Db, tokenHash: Buffer): Promise<{ id: string; domain: string } | undefined> {
  return trx
    .selectFrom('invitations')
    .select(['id', 'domain'])
    .where('token_hash', '=', tokenHash)
    .where(open)
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
