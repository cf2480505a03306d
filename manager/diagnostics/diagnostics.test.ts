import { expect, test } from 'vitest'
import { type Diagnosis } from '#manager/contract'
import { silentLog } from '../log.ts'
import { createDiagnostics } from './diagnostics.ts'

test('the doctor of a manager runs once for all who ask while it runs: pages, a bundle, and other managers', async () => {
  const ends: ((diagnosis: Diagnosis) => void)[] = []
  const diagnostics = createDiagnostics({
    agents: { request: () => Promise.reject(new Error('there is no agent')) },
    listAgents: () => Promise.resolve([]),
    getAgent: () => Promise.reject(new Error('there is no agent')),
    processId: 'this',
    listManagers: () => Promise.resolve([{ id: 'this' }]),
    doctor: () => new Promise(resolve => ends.push(resolve)),
    others: { ask: () => Promise.reject(new Error('there is no other')) },
    facts: {},
    logLines: () => [],
    secrets: () => Promise.resolve([]),
    log: silentLog,
  })
  const asked = [diagnostics.manager('this'), diagnostics.manager('this'), diagnostics.own()]
  const bundle = await diagnostics.bundle({ addresses: 'keep' }, new AbortController().signal)
  const read = bundle.toArray()
  await expect.poll(() => ends.length).toBe(1)
  ends[0]?.({ level: 'ok', checks: [] })
  expect(await Promise.all(asked)).toEqual(Array(3).fill({ level: 'ok', checks: [] }))
  await read
  expect(ends).toHaveLength(1)
  void diagnostics.own()
  expect(ends).toHaveLength(2)
})
