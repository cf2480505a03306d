import { sql } from 'kysely'
import { type FolderId, type Role, type TokenScope, type UserId } from '#manager/contract'
import { credentialColumns, roleWith } from '../identity/credential.ts'
import { ACCOUNT_HOLDS } from '../identity/users.ts'
import { type Db } from '../schema.ts'

/** The caller that asked for a ticket, by sign-in or keypair. */
export interface TicketCaller {
  readonly userId: UserId
  readonly email: string
  readonly role: Role
  readonly domain: string
  readonly loginId: string | null
  readonly keypair: string | null
  readonly scopes: readonly TokenScope[] | null
}

export interface NewDownload {
  readonly ticketHash: Buffer
  readonly folderId: FolderId
  readonly caller: Pick<TicketCaller, 'userId' | 'loginId' | 'keypair'>
  readonly paths: readonly string[]
  readonly livesSeconds: number
}

/** Tickets of one person that have not expired. */
export async function countDownloads(db: Db, userId: UserId): Promise<number> {
  const { count } = await db
    .selectFrom('downloads')
    .select(eb => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirstOrThrow()
  return count
}

/** @returns when the ticket expires */
export async function insertDownload(db: Db, download: NewDownload): Promise<Date> {
  const { expires_at } = await db
    .insertInto('downloads')
    .values({
      ticket_hash: download.ticketHash,
      folder_id: download.folderId,
      user_id: download.caller.userId,
      ...credentialColumns(download.caller),
      paths: [...download.paths],
      expires_at: sql<Date>`now() + make_interval(secs => ${download.livesSeconds})`,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return expires_at
}

export interface ValidDownload {
  readonly caller: TicketCaller
  readonly folderId: FolderId
  readonly paths: readonly string[]
}

/** A ticket that has not expired, whose sign-in or keypair and whose account are valid. */
export async function findDownload(db: Db, ticketHash: Buffer): Promise<ValidDownload | undefined> {
  const row = await db
    .selectFrom('downloads as d')
    .innerJoin('users', 'users.id', 'd.user_id')
    .leftJoin('logins as l', 'l.id', 'd.login_id')
    .leftJoin('keypairs as k', 'k.access_key', 'd.keypair')
    .select(['d.folder_id', 'd.user_id', 'd.login_id', 'd.keypair', 'd.paths', 'l.scopes'])
    .select(['users.email', 'users.role', 'users.domain'])
    .where('d.ticket_hash', '=', ticketHash)
    .where('d.expires_at', '>', sql<Date>`now()`)
    .where(sql<boolean>`(least(l.expires_at, l.ends_at) > now() or k.active)`)
    .where(ACCOUNT_HOLDS)
    .executeTakeFirst()
  if (!row) return undefined
  const { folder_id: folderId, user_id: userId, login_id: loginId, keypair, email, domain, scopes, paths } = row
  const role = roleWith(row.role, scopes)
  return { folderId, paths, caller: { userId, loginId, keypair, email, role, domain, scopes } }
}
