import { sql } from 'kysely'
import { type Db } from '../schema.ts'

const KEY = 'restored_at'

/**
 * Of a database that was just restored: what works once, and may have been used since the backup was made, works no more.
 * Most of it is not in a backup at all (see `snapshot.ts`).
 *
 * @param totpSeconds for how long one code of an authenticator app is good
 */
export async function endOneTimeThings(trx: Db, totpSeconds: number): Promise<void> {
  await sql`update invitations set expires_at = now() where used_at is null and expires_at > now()`.execute(trx)
  // The next code counts again: those that are good now may have been used.
  await sql`
    update users set totp_last_step = greatest(totp_last_step, floor(extract(epoch from now()) / ${totpSeconds}::int) + 1)
    where totp_confirmed_at is not null`.execute(trx)
  // The nonces of requests that were signed before are not all known.
  await sql`
    insert into settings (key, value) values (${KEY}, to_jsonb(extract(epoch from now()) * 1000))
    on conflict (key) do update set value = excluded.value`.execute(trx)
}

/** Undefined for a database that never was. */
export async function readRestoredAt(db: Db): Promise<Date | undefined> {
  const row = await db.selectFrom('settings').select('value').where('key', '=', KEY).executeTakeFirst()
  return row === undefined ? undefined : new Date(Number(row.value))
}
