import { expect, test } from 'vitest'
import { type Session } from '#manager/contract'
import { gpusHeld, idleGpuSessions } from './idle-gpus.ts'

const session = (name: string, gpus: string, use: readonly (number | null)[], change: Partial<Session> = {}) =>
  ({
    name,
    status: 'RUNNING',
    requested: { 'cuda.device': gpus },
    clusterSize: 1,
    stats: { gpus: use.map(utilization => ({ uuid: 'GPU-1', utilization, memBytes: 0 })) },
    ...change,
  }) as unknown as Session

test('a session is idle when it holds GPUs and every one of them is known to do nothing', () => {
  const idle = idleGpuSessions([
    session('one', '1', [0]),
    session('two', '2', [1, 4.9]),
    session('busy', '2', [0, 60]),
    session('unknown', '1', [null]),
    session('no figures', '1', []),
    session('waits', '1', [0], { status: 'PENDING' }),
    session('no gpu', '0', [0]),
  ])
  expect(idle.map(({ name }) => name)).toEqual(['two', 'one'])
})

test('shares and containers count', () => {
  expect(gpusHeld({ requested: { 'cuda.shares': '0.5' }, clusterSize: 3 })).toBe(1.5)
})
