import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/**
 * What one person does about another's account: whose choice a password is, keypairs that wait for their owner, and what the
 * person is told.
 *
 * Nobody noted so far whose choice a password was. A keypair that the audit log says somebody else made waits for its owner now,
 * because its maker has seen the secret.
 */
export const actingFor: Migration = {
  async up(db: Kysely<unknown>) {
    const statements = [
      `alter table users
        add column password_from text not null default 'unknown'
          check (password_from in ('person', 'administrator', 'unknown'))`,
      `alter table users alter column password_from set default 'person'`,
      `alter table keypairs
        add column created_by uuid references users on delete set null,
        add column waits boolean not null default false,
        add constraint keypairs_waiting_check check (not (waits and active))`,
      `update keypairs set created_by = made.actor_id, waits = true, active = false
        from audit_log made join users maker on maker.id = made.actor_id
        where made.action = 'createKeypair' and made.result = 'ok' and made.target = 'keypair:' || keypairs.access_key
          and made.actor_id <> keypairs.user_id`,
      // The kinds are those of the contract, which grow.
      'alter table messages drop constraint messages_about_check',
      `alter table messages add column detail text not null default ''`,
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
