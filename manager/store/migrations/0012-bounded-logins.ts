import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/**
 * A person has so many sign-ins at once that the end of an account deletes them all within the time of a request. Of more than that, which
 * earlier versions made, those end that have been unused longest. The index is for the ends, which delete the grants of each.
 */
export const boundedLogins: Migration = {
  async up(db: Kysely<unknown>) {
    const statements = [
      'create index grants_login on grants (login_id)',
      `delete from logins where id in (
        select id from (
          select id, keypair,
            row_number() over (partition by user_id, keypair order by last_used_at desc, id desc) as of_key,
            row_number() over (partition by user_id, keypair is null order by last_used_at desc, id desc) as of_kind
          from logins
        ) as ranked
        where of_kind > 200 or (keypair is not null and of_key > 50)
      )`,
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
