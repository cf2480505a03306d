import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAppsAddress, type Session, type SessionId } from '#manager/contract'
import { backup, restore } from '../../../manager/backup/backup.ts'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { startTestManager, temporaryDirectory, type TestManager } from '../../fixtures/manager.ts'
import { scriptedEngine, startMeshAgent } from '../../fixtures/mesh-agent.ts'

const launch = async (manager: TestManager, name: string, cpu = '1'): Promise<Session> => {
  const { api } = await manager.signIn()
  const resources = { cpu, mem: '512m' }
  const { items } = await api.createSession({ body: { image: 'berth/python:3.13', name, resources } })
  return items[0] as Session
}
const sessionAt = async (manager: TestManager, id: SessionId) =>
  (await manager.signIn()).api.getSession({ params: { id } })

test('a restored database starts paused: running sessions are adopted or imported, lost ones reported, until an admin resumes', async () => {
  await using stack = new AsyncDisposableStack()
  const { path: place } = stack.use(await temporaryDirectory())
  const { path: home } = stack.use(await temporaryDirectory())
  const { path: restoredDir } = stack.use(await temporaryDirectory())
  const file = join(place, 'berth.backup')
  const engine = scriptedEngine({ capacity: { cpu: 2000, mem: 8 * 2 ** 30 } })
  const ids: Record<string, SessionId> = {}
  let port: number
  let grant: string
  {
    await using manager = await startTestManager({ appsAddress: parseAppsAddress('https://*.apps.example.org') })
    port = Number(new URL(manager.url).port)
    const { join: invitation } = await manager.manager.createJoinToken()
    await using _agent = await startMeshAgent({ home, engine, join: invitation })
    const reach = (name: string, status: string) =>
      expect.poll(async () => (await sessionAt(manager, ids[name] as SessionId)).status).toBe(status)
    const { api } = await manager.signIn()
    await expect.poll(async () => (await api.listAgents()).items[0]?.status).toBe('CONNECTED')
    ids.steady = (await launch(manager, 'steady')).id
    ids.gone = (await launch(manager, 'gone')).id
    await reach('steady', 'RUNNING')
    await reach('gone', 'RUNNING')
    grant = (await api.createGrant({ params: { id: ids.steady, app: 'jupyter' } })).grant
    await api.updateSettings({ body: { publishApps: true } })
    await api.publishApp({ params: { id: ids.steady, app: 'jupyter' }, body: {} })
    ids.waiting = (await launch(manager, 'waiting')).id
    ids.patient = (await launch(manager, 'patient', '2')).id
    await backup({
      ...manager.source,
      file,
      masterKeyFile: join(manager.dataDir, 'master.key'),
      passphrase: 'a long enough passphrase',
      log: silentLog,
    })
    // Changes after the backup: one session ends, a waiting one starts, a new one runs.
    await api.deleteSession({ params: { id: ids.gone } })
    await reach('waiting', 'RUNNING')
    await api.deleteSession({ params: { id: ids.steady } }).catch(() => undefined)
    await reach('steady', 'TERMINATED')
    ids.later = (await launch(manager, 'later')).id
    await reach('later', 'RUNNING')
  }
  await restore({
    dataDir: restoredDir,
    databaseUrl: undefined,
    file,
    masterKeyFile: join(restoredDir, 'master.key'),
    passphrase: 'a long enough passphrase',
    log: silentLog,
  })
  {
    // A link that was withdrawn after the backup must not open again.
    await using store = await openToRead({ dataDir: restoredDir, databaseUrl: undefined, log: silentLog })
    expect(await store.db.selectFrom('published_apps').select('id').execute()).toEqual([])
  }
  await using manager = await startTestManager({ dataDir: restoredDir, port })
  await using _agent = await startMeshAgent({ home, engine })
  const { api } = await manager.signIn()
  const seen = async (name: string) => {
    const { status, reason } = await sessionAt(manager, ids[name] as SessionId)
    return `${status} ${reason.code}`
  }
  const eventually = (name: string, what: string) => expect.poll(() => seen(name)).toBe(what)
  await eventually('waiting', 'RUNNING imported')
  await eventually('later', 'RUNNING imported')
  await eventually('gone', 'TERMINATED lost_by_restore')
  await eventually('steady', 'TERMINATED lost_by_restore')
  await eventually('patient', 'PENDING scheduling_paused')
  expect((await api.getScheduling()).paused).toMatchObject({ why: 'restored' })
  const headers = { 'x-berth-grant': grant }
  await expect(manager.api().renewGrant({ headers })).rejects.toMatchObject({ code: 'grant_invalid' })
  expect((await api.recalculateUsage()).findings).toEqual([])

  expect((await api.resumeScheduling()).paused).toBeNull()
  await api.deleteSession({ params: { id: ids.waiting } })
  await api.deleteSession({ params: { id: ids.later } })
  await eventually('patient', 'RUNNING started')

  expect((await api.pauseScheduling()).paused).toMatchObject({ why: 'by_admin' })
  ids.next = (await launch(manager, 'next')).id
  await eventually('next', 'PENDING scheduling_paused')
})
