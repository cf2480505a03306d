import { expect, test } from 'vitest'
import { jobSettings } from './job-settings.ts'

const PROJECT = '0192f0c1-1111-7000-8000-000000000001'
const GROUP = {
  partition: 'gpu',
  account: 'lab',
  qos: 'normal',
  projects: { [PROJECT]: { account: 'speech', qos: 'high' } },
}

test('the choice of a session goes before the settings of its project, and those before the settings of the group', () => {
  expect(jobSettings(GROUP, {})).toEqual({ partition: 'gpu', account: 'lab', qos: 'normal' })
  expect(jobSettings(GROUP, { projectId: PROJECT })).toEqual({ partition: 'gpu', account: 'speech', qos: 'high' })
  const chosen = { slurm: { qos: 'urgent', timeLimitMinutes: 30 }, projectId: PROJECT }
  expect(jobSettings(GROUP, chosen)).toMatchObject({ account: 'speech', qos: 'urgent', timeLimitMinutes: 30 })
})

test('a session that chooses no time limit gets the usual one, else the longest that it could choose', () => {
  expect(jobSettings({ maxTimeLimitMinutes: 240 }, {})).toEqual({ timeLimitMinutes: 240 })
  expect(jobSettings({ maxTimeLimitMinutes: 240, timeLimitMinutes: 60 }, {})).toEqual({ timeLimitMinutes: 60 })
})
