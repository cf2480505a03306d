import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KernelId, type Session, SessionId } from '#manager/contract'
import { silentLog } from '../../manager/log.ts'
import { insertKernels } from '../../manager/store/sessions/kernels.ts'
import { newId } from '../../manager/store/new-id.ts'
import { openStore, type Store } from '../../manager/store/open-store.ts'
import { insertSessions } from '../../manager/store/sessions/sessions.ts'
import { createAgentHome, spawnAgent } from '../fixtures/agent-process.ts'
import { docker, TINY_IMAGE, tinyImage } from '../fixtures/docker.ts'
import { removeEverythingOf } from '../fixtures/leftovers.ts'
import { startDatabase } from '../fixtures/postgres.ts'
import { aSessionRow } from '../fixtures/session-rows.ts'
import { type SessionsCluster, startSessionsCluster } from '../fixtures/sessions-cluster.ts'

/** A real agent with real containers, one of which is removed by somebody. */
const stack = new AsyncDisposableStack()
let cluster: SessionsCluster
let store: Store

beforeAll(async () => {
  await tinyImage()
  const { url } = stack.use(await startDatabase())
  cluster = stack.use(await startSessionsCluster({}, { databaseUrl: url }))
  store = stack.use(await openStore({ databaseUrl: url, dataDir: '/nonexistent', log: silentLog, migrate: false }))
  const home = stack.use(await createAgentHome())
  const { join } = await cluster.manager.createJoinToken()
  const agent = stack.use(await spawnAgent(home, { BERTH_JOIN: join }))
  expect(await agent.firstLine).toMatchObject({ ready: 'agent' })
})
afterAll(async () => {
  const { managerId } = cluster.manager
  await stack.disposeAsync()
  await removeEverythingOf(managerId)
})

test('on a healthy engine no difference is found; removed containers and wrong rows are corrected', async () => {
  const { api } = cluster
  await expect.poll(async () => Number((await api.getResources({})).largest.cpu)).not.toBe(0)
  const launch = (): Promise<Session> => cluster.launch({ image: TINY_IMAGE, resources: { cpu: '0.1', mem: '64m' } })
  const [kept, removed] = [await launch(), await launch()]
  await cluster.reach(kept.id, 'RUNNING')
  const container = (await cluster.reach(removed.id, 'RUNNING')).kernels[0]
  const healthy = await api.recalculateUsage()
  expect(healthy).toMatchObject({ findings: [], agents: [{ compared: true, containers: 2 }] })

  await docker.getContainer(container?.containerId ?? '').remove({ force: true, v: true })
  const planted = await plant(kept)
  const { findings } = await api.recalculateUsage()
  expect(findings).toContainEqual(expect.objectContaining({ kind: 'container_gone', sessionId: planted }))
  expect((await cluster.reach(planted, 'TERMINATED')).reason.code).toBe('container_gone')
  // The agent may have seen the container being killed before it was gone.
  expect(['exited', 'container_gone']).toContain((await cluster.reach(removed.id, 'TERMINATED')).reason.code)
  expect((await api.listAgents()).items[0]?.occupied).toEqual({ cpu: '0.1', mem: String(64 * 2 ** 20) })
  expect(await api.recalculateUsage()).toMatchObject({ findings: [], agents: [{ containers: 1 }] })
  expect((await cluster.reach(kept.id, 'RUNNING')).reason.code).toBe('started')
})

test('a signed container of an ended session is found and removed; one without any record is adopted', async () => {
  const { api } = cluster
  const launch = () => cluster.launch({ image: TINY_IMAGE, resources: { cpu: '0.1', mem: '64m' } })
  const [ended, forgotten] = await Promise.all(
    [launch(), launch()].map(async made => cluster.reach((await made).id, 'RUNNING')),
  )
  const [orphan, unknown] = [ended?.kernels[0], forgotten?.kernels[0]]
  if (!ended || !forgotten || !orphan || !unknown) throw new Error('two sessions')
  await store.transaction(async trx => {
    await sql`delete from sessions where id = ${forgotten.id}`.execute(trx)
    await sql`update sessions set status = 'TERMINATED', ended_at = now() where id = ${ended.id}`.execute(trx)
    await sql`update kernels set status = 'TERMINATED', ended_at = now() where id = ${orphan.id}`.execute(trx)
  })
  const { findings } = await api.recalculateUsage()
  const found = findings.map(({ kind, kernelId }) => [kind, kernelId])
  expect(found).toContainEqual(['orphan_container', orphan.id])
  // A report of the agent may have caused its adoption before.
  expect([['unknown_container', unknown.id]]).toEqual(
    expect.arrayContaining(found.filter(([kind]) => kind !== 'orphan_container')),
  )
  // The orphaned container gets time to end on its own.
  await expect.poll(async () => (await api.recalculateUsage()).findings).toEqual([])
  await expect(docker.getContainer(orphan.containerId ?? '').inspect()).rejects.toThrow('no such container')
  expect((await docker.getContainer(unknown.containerId ?? '').inspect()).State.Running).toBe(true)
  expect((await cluster.reach(forgotten.id, 'RUNNING')).reason.code).toBe('imported')
})

/** Inserts a session that is claimed to run besides this one. */
async function plant(beside: Session): Promise<SessionId> {
  const [sessionId, kernelId] = [newId(SessionId), newId(KernelId)]
  const agentId = (await cluster.api.getSession({ params: { id: beside.id } })).kernels[0]?.agentId
  if (!agentId) throw new Error('it runs')
  const slots = { cpu: 1000, mem: 2 ** 30 }
  await insertSessions(store.db, [
    aSessionRow(beside.ownerId, {
      id: sessionId,
      name: 'never-started',
      image: TINY_IMAGE,
      imageDigest: beside.imageDigest,
      requested: slots,
      attempt: 1,
    }),
  ])
  await insertKernels(store.db, [
    { id: kernelId, sessionId, status: 'RUNNING', slots, agentId, attempt: 1, containerId: 'none' },
  ])
  return sessionId
}
