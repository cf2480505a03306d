import { effectScope, ref } from 'vue'
import { expect, test, vi } from 'vitest'
import { type Agent, type ApiClient, AppError, type Diagnosis } from '#manager/contract'
import { useDiagnoses } from './useDiagnoses.ts'

const FINE: Diagnosis = { level: 'ok', checks: [] }
const PROBLEM: Diagnosis = { level: 'problem', checks: [] }
const agent = (id: string, status: Agent['status'] = 'CONNECTED') => ({ id, name: id, status }) as Agent

function begin(
  agents: readonly Agent[],
  diagnoseAgent: (input: { params: { id: string }; signal?: AbortSignal }) => Promise<Diagnosis>,
) {
  const api = { diagnoseManager: () => Promise.resolve(FINE), diagnoseAgent } as unknown as ApiClient
  const scope = effectScope()
  const found = scope.run(() => useDiagnoses(api, ref(agents)))
  if (!found) throw new Error('no scope')
  return { ...found, end: () => scope.stop() }
}

test('an agent that fails or is away keeps no other from its result, and findings come first', async () => {
  const agents = [agent('fine'), agent('away', 'LOST'), agent('fails'), agent('ill')]
  const { states, sorted, done, checkAll } = begin(agents, ({ params: { id } }) =>
    id === 'fails'
      ? Promise.reject(new AppError('agent_unreachable', { agentId: id }))
      : Promise.resolve(id === 'ill' ? PROBLEM : FINE),
  )
  await checkAll()
  expect(done.value).toBe(4)
  expect(states.get('fails')).toMatchObject({ kind: 'failed' })
  expect(states.has('away')).toBe(false)
  expect(sorted.value.map(({ key }) => key)).toEqual(['fails', 'ill', 'away', 'manager', 'fine'])
})

test('stopped checks keep the results from before, and ask nobody more', async () => {
  const agents = Array.from({ length: 9 }, (_, i) => agent(`host-${i}`))
  const asked = vi.fn(
    ({ signal }: { signal?: AbortSignal }) =>
      new Promise<Diagnosis>((_, fail) => signal?.addEventListener('abort', () => fail(new Error('aborted')))),
  )
  const { states, running, check, checkAll, cancel } = begin(agents, asked)
  await check({ key: 'manager', agent: null })
  const all = checkAll()
  await expect.poll(() => asked.mock.calls.length).toBe(4)
  cancel()
  await all
  expect(running.value).toBe(false)
  expect(asked).toHaveBeenCalledTimes(4)
  expect([...states]).toEqual([['manager', { kind: 'done', diagnosis: FINE }]])
})
