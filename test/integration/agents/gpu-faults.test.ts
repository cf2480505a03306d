import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type AgentId, UserId } from '#manager/contract'
import { createGpuFaultTeller } from '../../../manager/agents/tell-gpu-faults.ts'
import { type TellHost } from '../../../manager/agents/tell-faults.ts'
import { tellHostNews } from '../../../manager/agents/tell-host-news.ts'
import { silentLog } from '../../../manager/log.ts'
import { insertUser } from '../../../manager/store/identity/users.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { listMessages } from '../../../manager/store/operation/messages.ts'
import { gpus } from '../../fixtures/scripted-agent.ts'
import { insertAgent, openTestStore } from '../../fixtures/test-store.ts'

const stack = new AsyncDisposableStack()
const admin = newId(UserId)
let store: Store
let agentId: AgentId
const broken = gpus(1).map(gpu => ({ ...gpu, problem: 'The GPU has fallen off the bus.' }))
const nothing = () => undefined

beforeAll(async () => {
  ;({ store } = stack.use(await openTestStore()))
  agentId = await insertAgent(store.db)
  await insertUser(store.db, { id: admin, email: 'b@b.c', name: 'B', role: 'superadmin', password_hash: 'x' })
})
beforeEach(() => store.db.deleteFrom('messages').execute())
afterAll(() => stack.disposeAsync())

const tell: TellHost = news =>
  tellHostNews(
    {
      store,
      settings: { read: () => Promise.resolve({ mailReady: false } as never) },
      mailer: { post: nothing },
      events: { publish: nothing, publishStats: nothing },
    },
    news,
  )
const aTeller = (how: TellHost) => createGpuFaultTeller({ store, tell: how, log: silentLog, timings: { faultMs: 0 } })
const told = async () => (await listMessages(store.db, admin)).map(({ about }) => about)

test('of two managers that see a GPU fail at the same time, one tells', async () => {
  const both = Promise.withResolvers<undefined>()
  let ready = 0
  /** Each is about to tell before one does. */
  const together: TellHost = async news => {
    if (++ready === 2) both.resolve(undefined)
    await both.promise
    await tell(news)
  }
  await Promise.all([1, 2].map(() => aTeller(together)(agentId, { gpuFaults: new Map() }, broken)))
  expect(await told()).toEqual(['gpu_fault'])
})

test('a GPU of which nobody could be told is told with the next report', async () => {
  let failures = 1
  const note = aTeller(news => (failures-- > 0 ? Promise.reject(new Error('no database')) : tell(news)))
  const memory = { gpuFaults: new Map() }
  await note(agentId, memory, broken)
  expect(await told()).toEqual([])
  await note(agentId, memory, broken)
  await note(agentId, memory, broken)
  expect(await told()).toEqual(['gpu_fault'])
})
