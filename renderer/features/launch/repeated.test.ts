import { expect, test } from 'vitest'
import { SessionSpec } from '#manager/contract'
import { aSession } from '../../testing/a-session.ts'
import { defaultForm, GIB, limitsOf, toSpec } from './launch-form.ts'
import { formOf, recentLaunches, refilled } from './repeated.ts'

test('a template becomes the form that sends the same request', () => {
  const spec = SessionSpec.parse({
    image: 'berth/python:3.13',
    resources: { cpu: '3', mem: String(6 * GIB), 'cuda.device': '1' },
    shmem: String(GIB),
    environ: { WANDB_MODE: 'offline' },
    count: 2,
    group: '01990000-0000-7000-8000-000000000001',
    folders: [{ folder: '01990000-0000-7000-8000-000000000002', path: 'data', readOnly: true }],
    kind: 'batch',
    startupCommand: 'python3 train.py',
    maxLifetimeSeconds: 5400,
    clusterSize: 2,
    priority: -3,
  })
  const form = formOf(spec, new Map([['01990000-0000-7000-8000-000000000002', { name: 'models' }]]))
  expect(form.folders[0]).toMatchObject({ name: 'models', path: 'data', readOnly: true })
  const largest = { cpu: 8000, mem: 64 * GIB, 'cuda.device': 2 }
  expect(toSpec(form, limitsOf(undefined, largest, form.mem))).toEqual(spec)
})

test('recent launches are listed once, the newest first, at most ten', () => {
  const at = (minute: number) => new Date(Date.UTC(2026, 4, 4, 10, minute)).toISOString()
  const same = [1, 2, 3].map(minute => aSession(minute, { name: `same-${minute}`, createdAt: at(minute) }))
  expect(recentLaunches(same).map(({ name }) => name)).toEqual(['same-3'])
  const many = Array.from({ length: 14 }, (_, index) =>
    aSession(20 + index, { name: `job-${index}`, startupCommand: `run ${index}`, createdAt: at(index) }),
  )
  expect(recentLaunches([...many, ...same]).map(({ name }) => name)).toEqual(
    [13, 12, 11, 10, 9, 8, 7, 6, 5, 4].map(index => `job-${index}`),
  )
})

test('an earlier launch fills the form as far as its places exist and its name is free', () => {
  const base = defaultForm(undefined, {})
  const form = { ...base, project: 'mine', resourceGroup: 'here', owner: 'eve@example.org', opens: 'jupyter' }
  const wish = { ...base, project: 'old', resourceGroup: 'gpus', name: 'train', cpu: 3000, owner: '', opens: '' }
  const offered = { projects: [{ id: 'mine' }], resourceGroups: [{ name: 'here' }, { name: 'gpus' }] }
  expect(refilled(form, wish, { ...offered, taken: new Set(['train']) })).toEqual({
    ...wish,
    project: 'mine',
    name: '',
    owner: 'eve@example.org',
    opens: 'jupyter',
  })
  expect(refilled(form, wish, { ...offered, taken: new Set() }).name).toBe('train')
})
