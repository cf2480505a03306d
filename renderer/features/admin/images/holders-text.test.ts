import { expect, test } from 'vitest'
import { type AgentId } from '#manager/contract'
import { allHoldersText, holdersText } from './holders-text.ts'

test('an image names its first agents, and counts the others', () => {
  expect(holdersText({ holders: 0 })).toBe('None')
  expect(holdersText({ holders: 2, firstAgents: ['gpu-1', 'gpu-2'] })).toBe('gpu-1, gpu-2')
  expect(holdersText({ holders: 1_040, firstAgents: ['gpu-1'] })).toBe('gpu-1 and 1,039 more')
  expect(holdersText({ holders: 1 })).toBe('1 agent')
})

test('a file names every agent that has an image', () => {
  const ids = ['one', 'two', 'three', 'gone'] as AgentId[]
  const names = new Map(ids.slice(0, 3).map(id => [id, `gpu-${id}`]))
  expect(allHoldersText({ agentIds: ids }, names)).toBe('gpu-one, gpu-two, gpu-three, gone')
  expect(allHoldersText({ agentIds: [] }, names)).toBe('')
})
