import { expect, test } from 'vitest'
import { type Session, type SessionStats } from '#manager/contract'
import { card, statsTable } from './session-text.ts'

const GiB = 2 ** 30
const stats = (...gpus: SessionStats['gpus']): SessionStats => ({
  ...{ at: '2026-11-20T12:00:00.000Z', cpuMilli: 500, memBytes: GiB, memPeakBytes: GiB, scratchBytes: null },
  ...{ netRxBytes: 0, netTxBytes: 0, diskReadBytes: 0, diskWriteBytes: 0 },
  gpus,
})
const device = { utilization: 90, memBytes: 62 * GiB, totalBytes: 80 * GiB }
const gpu = (utilization: number | null, memBytes: number | null) => ({ uuid: 'GPU-0', utilization, memBytes, device })
/** Cells of the first row, from the third: those of GPUs. */
const cells = (one: SessionStats) => statsTable([one]).split('\n')[1]?.split(/ {2,}/).slice(3, 5)

test('figures of a shared GPU are the session’s, with those of the whole GPU beside them', () => {
  expect(cells(stats(gpu(30, 20 * GiB)))).toEqual(['30% (90%)', '20 GiB (62 GiB)'])
  expect(statsTable([stats(gpu(30, 20 * GiB))])).toContain('In parentheses: the whole GPU')
  expect(cells(stats(gpu(null, null)))).toEqual(['? (90%)', '? (62 GiB)'])
})

test('figures of a whole GPU are there once, and a session without one has none', () => {
  expect(cells(stats(gpu(90, 62 * GiB)))).toEqual(['90%', '62 GiB'])
  expect(statsTable([stats(gpu(90, 62 * GiB))])).not.toContain('parentheses')
  expect(cells(stats())).toEqual(['–', '–'])
})

test('a session with a share of a GPU says what it means in memory, as soon as the size is known', () => {
  const kernels = [{ devices: [{ uuid: 'GPU-0', slot: 'cuda.shares', amount: '0.25' }] }]
  const session = (more: Partial<Session>): Session =>
    ({
      ...{ id: 'x', name: 'n', status: 'RUNNING', ownerEmail: 'e', sharedAs: null, launchedBy: null, sharedWith: null },
      ...{ tags: [], note: '', queuePosition: null, reachable: true, reason: { message: '' }, image: 'i', shmem: '0' },
      ...{
        clusterSize: 1,
        dependsOn: [],
        priority: 0,
        network: { mode: 'full' },
        apps: [],
        createdAt: '',
        startedAt: null,
        ends: null,
        endedAt: null,
        usage: null,
        stats: null,
      },
      ...{ requested: { cpu: '1', 'cuda.shares': '0.25' }, kernels },
      ...more,
    }) as unknown as Session
  const shareOf = (more: Partial<Session>) =>
    card(session(more))
      .split('\n')
      .find(line => line.startsWith('gpu share'))
  expect(shareOf({})).toContain('0.25 of GPU-0; BERTH_GPU_SHARE')
  expect(shareOf({ stats: stats(gpu(1, 1)) })).toContain('about 20 GiB of its 80 GiB of memory')
  expect(shareOf({ requested: { 'cuda.device': '1' } })).toBeUndefined()
})
