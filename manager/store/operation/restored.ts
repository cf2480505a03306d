import { sql } from 'kysely'
import { type Db } from '../schema.ts'

const KEY = 'restored_at'

/**
 * After a restore, invalidates one-time credentials that may have been used since the backup was made. Most of them are
 * not in a backup at all (see `snapshot.ts`).
 *
 * @param totpSeconds how long one code of an authenticator app is valid
 */
export async function endOneTimeThings(trx: Db, totpSeconds: number): Promise<void> {
  await sql`update invitations set expires_at = now() where used_at is null and expires_at > now()`.execute(trx)
  // Invitations to folders may have been taken back since, or accepted by somebody who was removed again.
  await sql`update folder_invitations set expires_at = now() where expires_at > now()`.execute(trx)
  // The current codes may have been used: only later ones are accepted.
  await sql`
    update users set totp_last_step = greatest(totp_last_step, floor(extract(epoch from now()) / ${totpSeconds}::int) + 1)
    where totp_confirmed_at is not null`.execute(trx)
  // Signed requests from before this time are refused: the nonces that were used since the backup are not known.
  await sql`
    insert into settings (key, value) values (${KEY}, to_jsonb(extract(epoch from now()) * 1000))
    on conflict (key) do update set value = excluded.value`.execute(trx)
}

/** When the database was restored last; undefined if it never was. */
export async function readRestoredAt(db: Db): Promise<Date | undefined> {
  const row = await db.selectFrom('settings').select('value').where('key', '=', KEY).executeTakeFirst()
  return row === undefined ? undefined : new Date(Number(row.value))
}
