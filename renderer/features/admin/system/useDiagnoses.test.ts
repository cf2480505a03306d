import { effectScope, ref } from 'vue'
import { expect, test, vi } from 'vitest'
import { type Agent, type ApiClient, AppError, type Diagnosis, type Manager } from '#manager/contract'
import { useDiagnoses } from './useDiagnoses.ts'

const FINE: Diagnosis = { level: 'ok', checks: [] }
const PROBLEM: Diagnosis = { level: 'problem', checks: [] }
const manager = (id: string) => ({ id, url: `http://${id}` }) as Manager
const agent = (id: string, status: Agent['status'] = 'CONNECTED') => ({ id, name: id, status }) as Agent

function begin(
  agents: readonly Agent[],
  diagnoseAgent: (input: { params: { id: string }; signal?: AbortSignal }) => Promise<Diagnosis>,
  managers = [manager('first')],
) {
  const diagnoseManager = ({ params: { id } }: { params: { id: string } }) =>
    id === 'ends' ? Promise.reject(new AppError('unavailable')) : Promise.resolve(FINE)
  const api = { diagnoseManager, diagnoseAgent } as unknown as ApiClient
  const scope = effectScope()
  const found = scope.run(() => useDiagnoses(api, ref(managers), ref(agents)))
  if (!found) throw new Error('no scope')
  return { ...found, end: () => scope.stop() }
}

test('a manager or an agent that fails or is away keeps no other from its result, and findings come first', async () => {
  const agents = [agent('fine'), agent('away', 'LOST'), agent('fails'), agent('ill')]
  const diagnoseAgent = ({ params: { id } }: { params: { id: string } }) =>
    id === 'fails'
      ? Promise.reject(new AppError('agent_unreachable', { agentId: id }))
      : Promise.resolve(id === 'ill' ? PROBLEM : FINE)
  const managers = [manager('first'), manager('ends')]
  const { states, sorted, done, checkAll } = begin(agents, diagnoseAgent, managers)
  await checkAll()
  expect(done.value).toBe(5)
  expect(states.get('ends')).toMatchObject({ kind: 'failed' })
  expect(states.get('fails')).toMatchObject({ kind: 'failed' })
  expect(states.has('away')).toBe(false)
  expect(sorted.value.map(({ key }) => key)).toEqual(['ends', 'fails', 'ill', 'away', 'first', 'fine'])
})

test('stopped checks keep the results from before, and ask nobody more', async () => {
  const agents = Array.from({ length: 9 }, (_, i) => agent(`host-${i}`))
  const asked = vi.fn(
    ({ signal }: { signal?: AbortSignal }) =>
      new Promise<Diagnosis>((_, fail) => signal?.addEventListener('abort', () => fail(new Error('aborted')))),
  )
  const { states, running, check, checkAll, cancel } = begin(agents, asked)
  await check({ key: 'first', manager: manager('first'), agent: null })
  const all = checkAll()
  await expect.poll(() => asked.mock.calls.length).toBe(4)
  cancel()
  await all
  expect(running.value).toBe(false)
  expect(asked).toHaveBeenCalledTimes(4)
  expect([...states]).toEqual([['first', { kind: 'done', diagnosis: FINE }]])
})
