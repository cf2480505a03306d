import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestStore } from '../../fixtures/test-store.ts'

const DECISION = new URL('../../../docs/adr/0081-what-outlives-a-right.md', import.meta.url)

test('the decision says of each column that names a person, a sign-in or a keypair what becomes of its row', async () => {
  await using world = await openTestStore()
  const { rows } = await sql<{ name: string }>`
    select c.conrelid::regclass::text || '.' || a.attname as name
    from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
    where c.contype = 'f' and c.connamespace = current_schema()::regnamespace
      and c.confrelid::regclass::text in ('users', 'logins', 'keypairs')`.execute(world.store.db)
  const text = await readFile(DECISION, 'utf8')
  const table = text.split('\n').filter(line => line.startsWith('| `'))
  const said = table.flatMap(line =>
    [...(line.split('|')[1] ?? '').matchAll(/`([a-z_]+[.][a-z_]+)`/g)].map(([, name]) => name),
  )
  expect(said.toSorted()).toEqual(rows.map(({ name }) => name).toSorted())
})
