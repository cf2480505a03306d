import { buffer } from 'node:stream/consumers'
import { createGunzip } from 'node:zlib'
import { Readable } from 'node:stream'
import { extract } from 'tar-stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Diagnosis } from '#manager/contract'
import { createPeers, type PeersHub } from '../../../manager/cluster/peers.ts'
import { createOtherManagers } from '../../../manager/diagnostics/other-managers.ts'
import { silentLog } from '../../../manager/log.ts'
import { newUuid } from '../../../manager/store/new-id.ts'
import { deleteManager, saveManager } from '../../../manager/store/operation/managers.ts'
import { openStore, type Store } from '../../../manager/store/open-store.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { type Managers, startManagers } from '../../fixtures/managers.ts'

let managers: Managers
beforeAll(async () => {
  managers = await startManagers()
})
afterAll(() => (managers as Managers | undefined)?.[Symbol.asyncDispose]())

const FINE: Diagnosis = { level: 'ok', checks: [] }

test('each manager runs its own doctor: on the page of any of them, and in the bundle', async () => {
  await using a = await managers.start()
  await using b = await managers.start()
  const { api, token } = await managers.admin(a)
  const list = async () => (await api.listManagers()).items
  await expect.poll(async () => (await list()).length).toBe(2)
  const ids = (await list()).map(({ id }) => id)
  const [here, there] = await Promise.all(ids.map(id => api.diagnoseManager({ params: { id } })))
  const diskOf = (diagnosis?: Diagnosis) => diagnosis?.checks.find(({ nameBy }) => nameBy === 'check_data_disk')?.says
  // Each names its own data directory.
  expect(diskOf(here)).toMatch(/\S/)
  expect(diskOf(there)).toMatch(/\S/)
  expect(diskOf(there)).not.toBe(diskOf(here))

  const reply = await fetch(`${a.url}/api/v1/diagnostics/bundle`, { headers: { authorization: `Bearer ${token}` } })
  const names: string[] = []
  const archive = Readable.from([Buffer.from(await reply.arrayBuffer())])
    .pipe(createGunzip())
    .pipe(extract())
  for await (const entry of archive) {
    names.push(entry.header.name)
    if (entry.header.name.endsWith('/doctor.json')) expect((await buffer(entry)).toString()).toContain('"checks"')
    else entry.resume()
  }
  for (const id of ids) expect(names).toContain(`berth-diagnostics/managers/${id}/doctor.json`)

  await b[Symbol.asyncDispose]()
  const gone = (await Promise.all(ids.map(id => api.diagnoseManager({ params: { id } }).catch((e: unknown) => e)))).map(
    answer => (answer instanceof Error ? (answer as { code?: string }).code : 'answered'),
  )
  expect(gone.toSorted()).toEqual(['answered', 'not_found'])
})

/** The parts of a manager that its diagnosis needs. `link` carries its messages; `leave` changes the list of managers. */
async function member(store: Store, own: () => Promise<Diagnosis>, link: { send: (payload: string) => void }) {
  const processId = newUuid()
  const listeners: (() => void)[] = []
  await saveManager(store.db, { id: processId, url: `http://${processId}`, version: '0' })
  const notify = (payload: string) => {
    link.send(payload)
    return Promise.resolve()
  }
  const peers: PeersHub = createPeers({ processId, notify, log: silentLog })
  const others = createOtherManagers({
    db: store.db,
    cluster: { processId, peers, onMembers: listener => void listeners.push(listener) },
    own: async () => ({ diagnosis: await own(), log: ['a line'] }),
    log: silentLog,
    withinMs: 60_000,
  })
  return { processId, peers, others, lookAtMembers: () => listeners.forEach(listener => listener()) }
}

test('a lost message, a doctor that fails, and a manager that ends while it is asked', async () => {
  await using folder = await temporaryDirectory()
  const { databaseUrl } = managers
  await using store = await openStore({ databaseUrl, dataDir: folder.path, log: silentLog })
  const silent = { send: () => undefined }
  const asks = await member(store, () => Promise.resolve(FINE), silent)
  const ask = (one: { processId: string }) => asks.others.ask(one.processId, { withLog: true })
  const asked = async (id: string) =>
    (await store.db.selectFrom('diagnoses').select('id').where('manager_id', '=', id).execute()).length

  // No messages arrive: both check again when they notice that they have missed something.
  const deaf = await member(store, () => Promise.resolve(FINE), silent)
  const answer = ask(deaf)
  await expect.poll(() => asked(deaf.processId)).toBe(1)
  deaf.peers.gap()
  await expect
    .poll(() => store.db.selectFrom('diagnoses').select('id').where('answer', 'is not', null).execute())
    .toHaveLength(1)
  asks.peers.gap()
  expect(await answer).toEqual({ diagnosis: FINE, log: ['a line'] })
  expect(await asked(deaf.processId)).toBe(0)

  const fails = await member(store, () => Promise.reject(new Error('no disk')), {
    send: payload => asks.peers.receive(payload),
  })
  const failure = expect(ask(fails)).rejects.toMatchObject({ code: 'internal' })
  await expect.poll(() => asked(fails.processId)).toBe(1)
  fails.peers.gap()
  await failure

  const ends = await member(store, () => new Promise(() => undefined), silent)
  const ended = expect(ask(ends)).rejects.toMatchObject({ code: 'unavailable' })
  await expect.poll(() => asked(ends.processId)).toBe(1)
  await deleteManager(store.db, ends.processId)
  asks.lookAtMembers()
  await ended
  await expect(ask(ends)).rejects.toMatchObject({ code: 'not_found' })

  const hangs = await member(store, () => new Promise(() => undefined), silent)
  const inTime = AbortSignal.timeout(50)
  await expect(asks.others.ask(hangs.processId, { withLog: false, signal: inTime })).rejects.toMatchObject({
    code: 'unavailable',
  })
})
