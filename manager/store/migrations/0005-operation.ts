import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** What months of operation ask for. */
export const operation: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  // Of the list of images that an agent told last: one that comes back with the same list is not written again.
  'alter table agents add column images_digest text',
  // Through which other manager an agent comes that cannot dial this one.
  'alter table agent_links add column via uuid',
  'alter table managers add column clock_ahead_ms bigint not null default 0',
  // When a kernel stopped holding what it had: one beside the main one may have done its work long before its session.
  'alter table kernels add column ended_at timestamptz',
  `update kernels k set ended_at = coalesce(s.ended_at, now())
    from sessions s where s.id = k.session_id and k.status in ('TERMINATED', 'CANCELLED', 'ERROR')`,
  // The agent whose place is taken by whoever joins with it.
  'alter table join_tokens add column replaces uuid references agents on delete cascade',
  // How each GPU is given out, by its UUID; the first that its agent says of a new one, until an admin sets another.
  `alter table agents add column device_modes jsonb not null default '{}'`,
  `update agents set devices = (
    select jsonb_agg(d || jsonb_build_object('isolationReason', null, 'problem', null, 'mode',
      case when d ->> 'isolation' = 'mig' then 'mig' when d ->> 'slot' = 'cuda.shares' then 'shared' else 'whole' end))
    from jsonb_array_elements(devices) d) where devices <> '[]'`,
  // The log keeps what is younger than administrators want to keep it, whoever asks for its deletion.
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
