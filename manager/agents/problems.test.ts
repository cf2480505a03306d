import { expect, test } from 'vitest'
import { because } from '#manager/contract'
import { createProblems, networkProblem, unknownProblem } from './problems.ts'

test('problems are one text, in the order of their subjects, until they are cleared', () => {
  const problems = createProblems()
  expect(problems.all()).toBeNull()
  problems.note('leftOut', because('agent_says', { text: 'An image was left out.' }))
  problems.note('network', because('agent_says', { text: 'No network.' }))
  expect(problems.all()?.why ?? null).toBe('No network. An image was left out.')
  expect(problems.has('network')).toBe(true)
  problems.note('network', null)
  expect(problems.all()?.why ?? null).toBe('An image was left out.')
  problems.note('leftOut', null)
  expect(problems.all()).toBeNull()
})

test('the sentence about unknown containers fits their number', () => {
  expect(unknownProblem(0)).toBeNull()
  expect(unknownProblem(1)?.why).toMatch(
    /^1 container on the host carries the name of this Berth, but not its signature\./,
  )
  expect(unknownProblem(3)?.why).toMatch(
    /^3 containers on the host carry the name of this Berth, but not its signature\./,
  )
})

test('the problem of networks keeps the key of the agent; the text of an older agent stays as it is', () => {
  expect(networkProblem(null, undefined)).toBeNull()
  const { why, ...keys } = because('network_range_used_up', { range: '10.99.0.0/24' })
  expect(networkProblem(why, keys)).toMatchObject({ cause: 'agent_without_networks', more: [keys] })
  for (const none of [undefined, { cause: 'not_a_key' }])
    expect(networkProblem('No network.', none)).toMatchObject({
      why: 'The agent cannot start sessions, because their network is not available: No network.',
      more: [{ cause: 'agent_says', values: { text: 'No network.' } }],
    })
})
