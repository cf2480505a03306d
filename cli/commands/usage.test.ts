import { expect, test } from 'vitest'
import { type UsageReport } from '#manager/contract'
import { reportTable } from './usage.ts'

test('hours of short sessions are not zero, and a waste that was not measured is a dash', () => {
  const row = {
    ...{ key: 'a', name: 'ada', sessions: 77, gpuHours: 0.04, gpuIdle: null, gpuWastedHours: null },
    ...{ cpuHours: 0.13, cpuIdle: 0.5, memGibHours: 12.34, memIdle: null },
  } satisfies UsageReport['items'][number]
  const cells = (one: UsageReport['items'][number]) => reportTable([one]).split('\n')[1]?.split(/ {2,}/)
  expect(cells(row)).toEqual(['ada', '0.04', '–', '–', '0.13', '50 %', '12.3', '–', '77'])
  expect(cells({ ...row, gpuWastedHours: 0.02 })?.[3]).toBe('0.02')
})
