import { expect, test } from 'vitest'
import { readConfig } from './config.ts'

const claimOf = (BERTH_AGENT_CLAIM?: string) => readConfig({ BERTH_DATA: '/srv/berth', BERTH_AGENT_CLAIM }).claimVolume

test('the claim of an engine is a name that Docker takes for a volume', () => {
  expect([claimOf(), claimOf(' berth-test.2 ')]).toEqual(['berth-agent', 'berth-test.2'])
  for (const text of ['/tmp/claim', 'a/b', '..', '-x', 'a', 'x'.repeat(200)])
    expect(() => claimOf(text)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
})
