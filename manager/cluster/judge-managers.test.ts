import { expect, test } from 'vitest'
import { judgeManagers, type JudgedManager } from './judge-managers.ts'

const well: JudgedManager = {
  url: 'https://a',
  version: '1.0.0',
  clockAheadMs: -900,
  agents: 3,
  agentsVia: 0,
  agentsMissing: 0,
}

test('managers of one version, with correct clocks, that all agents can dial have no problem', () => {
  expect(judgeManagers([well, { ...well, url: 'https://b', clockAheadMs: 5_000 }])).toEqual([])
})

test('different versions are reported once, with the managers of each', () => {
  const found = judgeManagers([well, { ...well, url: 'https://b', version: '1.1.0' }, { ...well, url: 'https://c' }])
  expect(found.map(({ code }) => code)).toEqual(['manager_versions_differ'])
  expect(found[0]?.message).toContain('https://b (1.1.0)')
})

test('a clock that is more than five seconds off is reported with its direction', () => {
  const found = judgeManagers([{ ...well, clockAheadMs: -61_000 }])
  expect(found).toEqual([
    {
      code: 'manager_clocks_differ',
      message: 'The clock of https://a is 61 s behind that of the database. Synchronise both with a time server.',
      cause: 'manager_behind_database',
      values: { manager: 'https://a', seconds: 61 },
    },
  ])
})

test('an address that agents cannot dial is reported, whether they use another route or none', () => {
  const [found] = judgeManagers([{ ...well, agentsVia: 1, agentsMissing: 2 }])
  expect(found?.code).toBe('manager_not_dialled')
  expect(found?.message).toMatch(
    /^3 of 5 agents cannot dial https:\/\/a\. 1 agent connects through .*\. 2 agents are not connected to it\./,
  )
})
