import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Changes that months of operation have shown to be needed. */
export const operation: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  // Digest of the image list that an agent reported last. If an agent reconnects with the same list, nothing is written.
  'alter table agents add column images_digest text',
  // Manager that relays the connection of an agent which cannot dial this manager.
  'alter table agent_links add column via uuid',
  'alter table managers add column clock_ahead_ms bigint not null default 0',
  // When a kernel released its resources: a kernel beside the main one may finish long before its session.
  'alter table kernels add column ended_at timestamptz',
  `update kernels k set ended_at = coalesce(s.ended_at, now())
    from sessions s where s.id = k.session_id and k.status in ('TERMINATED', 'CANCELLED', 'ERROR')`,
  // Existing agent that the agent joining with this token replaces.
  'alter table join_tokens add column replaces uuid references agents on delete cascade',
  // How each GPU is given out, by its UUID: the mode that the agent reported first, until an admin sets another.
  `alter table agents add column device_modes jsonb not null default '{}'`,
  `update agents set devices = (
    select jsonb_agg(d || jsonb_build_object('isolationReason', null, 'problem', null, 'mode',
      case when d ->> 'isolation' = 'mig' then 'mig' when d ->> 'slot' = 'cuda.shares' then 'shared' else 'whole' end))
    from jsonb_array_elements(devices) d) where devices <> '[]'`,
  // Rows younger than the setting `auditDays` cannot be deleted by anybody.
  `create or replace function refuse_change() returns trigger language plpgsql as $$
    declare days int;
    begin
      if tg_op = 'DELETE' then
        select (value ->> 'auditDays')::int into days from settings where key = 'system';
        if old.at < now() - make_interval(days => days) then return old; end if;
      end if;
      raise exception 'the audit log is append-only';
    end $$`,
]
