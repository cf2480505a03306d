import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { type AgentId } from '#manager/contract'
import { createAgentLinks } from '../../../manager/cluster/agent-links.ts'
import { NO_PEERS } from '../../../manager/cluster/peers.ts'
import { silentLog } from '../../../manager/log.ts'
import { newUuid } from '../../../manager/store/new-id.ts'
import { listLinkedElsewhere, saveManager } from '../../../manager/store/operation/managers.ts'
import { type Db } from '../../../manager/store/schema.ts'
import { insertAgent, openTestStore } from '../../fixtures/test-store.ts'

const STRANGER = newUuid()

/** The links of a manager process, and the statements that it sends, with their parameters. */
async function startLinks(db: Db) {
  const processId = newUuid()
  await saveManager(db, { id: processId, url: 'http://127.0.0.1:1', version: '1' })
  const sent: (readonly unknown[])[] = []
  const watched = db.withPlugin({
    transformQuery({ node }) {
      sent.push('parameters' in node ? node.parameters.map(value => ('value' in value ? value.value : value)) : [node])
      return node
    },
    transformResult: ({ result }) => Promise.resolve(result),
  })
  const deps = { processId, peers: NO_PEERS, lostMs: 60_000, log: silentLog }
  return { processId, sent, links: createAgentLinks({ ...deps, db: watched }) }
}

const linked = async (db: Db) => new Set(await listLinkedElsewhere(db, STRANGER))

test('an agent that comes or goes is written alone, however many others are connected', async () => {
  await using opened = await openTestStore()
  const { db } = opened.store
  const { links, sent } = await startLinks(db)
  const agents: AgentId[] = []
  while (agents.length < 5) agents.push(await insertAgent(db))
  const [first, second, ...others] = agents as [AgentId, AgentId, ...AgentId[]]
  for (const id of [first, ...others]) links.add(id, null)
  await links.sync()
  sent.length = 0

  links.add(second, null)
  links.remove(first)
  await links.sync()

  expect(await linked(db)).toEqual(new Set([second, ...others]))
  expect(JSON.stringify(sent)).toContain(second)
  for (const id of others) expect(JSON.stringify(sent)).not.toContain(id)
})

test('links that the database has lost are written again', async () => {
  await using opened = await openTestStore()
  const { db } = opened.store
  const { links, processId } = await startLinks(db)
  const agents = [await insertAgent(db), await insertAgent(db)]
  for (const id of agents) links.add(id, null)
  await links.sync()

  // As after a failover to a standby that had not received them.
  await sql`delete from agent_links where agent_id = ${agents[0]} and manager_id = ${processId}`.execute(db)
  links.counted(1)
  await links.sync()

  expect(await linked(db)).toEqual(new Set(agents))
})

test('agents of a manager that loses its network are looked for together', async () => {
  await using opened = await openTestStore()
  const { db } = opened.store
  const here = await startLinks(db)
  const there = await startLinks(db)
  const agents: AgentId[] = []
  while (agents.length < 20) agents.push(await insertAgent(db))
  for (const id of agents.slice(0, 10)) there.links.add(id, null)
  await there.links.sync()

  const found = await Promise.all(agents.map(id => here.links.isElsewhere(id)))

  expect(found).toEqual(agents.map((_, index) => index < 10))
  expect(agents.map(id => here.links.wasElsewhere(id))).toEqual(found)
  expect(here.sent.length).toBeLessThan(agents.length / 2)
})
