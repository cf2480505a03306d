import { expect, test } from 'vitest'
import { type Backups } from '#manager/contract'
import { missingChecks } from './checklist.ts'
import { gpusOf, heldPoints, rangeQuery } from './use-chart.ts'

test('the checklist names what is missing, in its order, and nothing that is there', () => {
  const none = { mailReady: false, publicUrl: null }
  const off = { nextAt: null, last: null }
  expect(
    missingChecks({
      ...{ connected: 0, gpus: 0 },
      superadmins: 1,
      ...{ appsAddress: false, appsFault: false },
      settings: none,
      backups: off,
      certificates: [],
    }),
  ).toEqual(['agent', 'secondAdmin', 'https', 'mail', 'backup', 'gpu'])
  const all = { mailReady: true, publicUrl: 'https://berth.example.org' }
  const last = { outcome: 'done' } as NonNullable<Backups['last']>
  const backups = { nextAt: '2026-05-05T03:00:00Z', last }
  expect(
    missingChecks({
      ...{ connected: 1, gpus: 1 },
      superadmins: 2,
      ...{ appsAddress: true, appsFault: false },
      settings: all,
      backups,
      certificates: [{ state: 'good' }],
    }),
  ).toEqual([])
  const elsewhere = {
    ...{ connected: 1, gpus: 1, superadmins: 2, settings: all, backups, certificates: [] },
    ...{ appsAddress: false, appsFault: false },
  } as const
  expect(missingChecks(elsewhere)).toEqual(['apps'])
  expect(missingChecks({ ...elsewhere, appsAddress: true, appsFault: true })).toEqual(['appsAnswer'])
  // Http is not enough.
  expect(
    missingChecks({
      ...{ connected: 0, gpus: 0 },
      superadmins: 2,
      ...{ appsAddress: true, appsFault: false },
      settings: { ...all, publicUrl: 'http://berth.example.org' },
      backups: { ...backups, last: { ...last, outcome: 'failed' } },
      certificates: [{ state: 'good' }, { state: 'failed' }],
    }),
  ).toEqual(['agent', 'https', 'certificate', 'backupFailed', 'gpu'])
})

test('hours held become amounts held; the period that is not over counts over its passed part', () => {
  const now = new Date('2026-05-04T12:30:00Z')
  const item = (at: string, gpuHours: number) => ({
    at,
    sessions: 1,
    cpuHours: 0,
    memGibHours: 0,
    gpuHours,
    ...{ cpuIdle: null, gpuIdle: null, memIdle: null },
    ...{ readBytes: 0, writtenBytes: 0, receivedBytes: 0, sentBytes: 0 },
  })
  const items = [item('2026-05-04T11:00:00Z', 4), item('2026-05-04T12:00:00Z', 2)]
  expect(heldPoints(items, 'gpuHours', 'Held', { range: 'day', now }).lines[0]?.values).toEqual([4, 4])
  const days = [item('2026-05-03T00:00:00Z', 48), item('2026-05-04T00:00:00Z', 25)]
  expect(heldPoints(days, 'gpuHours', 'Held', { range: 'month', now }).lines[0]?.values).toEqual([2, 2])
  expect(rangeQuery('week', now)).toEqual({ by: 'hour', from: '2026-04-27T12:30:00.000Z', scope: 'all' })
  expect(gpusOf({ 'cuda.device': 3, 'cuda.shares': 150 })).toBe(4.5)
})
