import { expect, test } from 'vitest'
import { type ScopeUsage } from '#manager/contract'
import { aSession } from '../../testing/a-session.ts'
import { shareOf } from './usage-share.ts'
import { scopeNote } from './scope-text.ts'
import { clusterMeters, ownMeters, scopeMeters } from './usage-text.ts'

const GIB = 2 ** 30
const CLUSTER = { capacity: { cpu: 2000, mem: 8 * GIB }, occupied: { cpu: 2000, mem: 2 * GIB }, sessions: 9 }
const mine = (change: Partial<ScopeUsage> = {}): ScopeUsage => ({
  kind: 'user',
  id: 'u1',
  name: 'mira@example.com',
  policy: 'students',
  limits: {},
  held: {},
  left: {},
  maxSessions: null,
  sessions: 0,
  ...change,
})

test('a user without sessions sees no usage of their own, however full the cluster is', () => {
  const meters = ownMeters(mine(), CLUSTER)
  expect(meters.map(({ label, text }) => [label, text])).toEqual([
    ['Sessions', '0'],
    ['CPU', '0'],
    ['RAM', '0 B'],
  ])
  expect(meters[0]?.hint).toBe('Sessions: you hold 0, no limit of your own. Everyone together: 9 running.')
  expect(meters.every(({ fraction }) => fraction === null)).toBe(true)
})

test('own usage is measured against the own limits', () => {
  const limited = mine({ limits: { cpu: '1', mem: '2g' }, held: { cpu: '0.5' }, maxSessions: 2, sessions: 1 })
  expect(ownMeters(limited, CLUSTER).map(({ text, fraction }) => [text, fraction])).toEqual([
    ['1 / 2', 0.5],
    ['0.5 / 1', 0.5],
    ['0 B / 2 GiB', 0],
  ])
})

test('with a chosen project, its usage and limits are told before those of the cluster', () => {
  const project = mine({ kind: 'group', name: 'vision', limits: { cpu: '8' }, held: { cpu: '6' }, sessions: 4 })
  const meters = ownMeters(mine(), CLUSTER, project)
  expect(meters[1]?.hint).toBe(
    'CPU: you hold 0, no limit of your own. Project vision: 6 / 8. Everyone together: 2 / 2.',
  )
})

test('with a chosen resource group, its capacity and use are told instead of those of the cluster', () => {
  const group = { capacity: { cpu: 800, 'cuda.device': 4 }, occupied: { cpu: 200 }, sessions: 1 }
  const meters = ownMeters(mine(), { ...group, resourceGroup: 'gpu-large' })
  expect(meters.map(({ label }) => label)).toEqual(['Sessions', 'CPU', 'GPU'])
  expect(meters[2]?.hint).toBe(
    'GPU: you hold 0, no limit of your own. Everyone together in resource group gpu-large: 0 / 4.',
  )
})

test('a limit of zero is full only if something is held', () => {
  const none = mine({ limits: { 'cuda.device': '0' } })
  expect(scopeMeters(none, CLUSTER.capacity).find(({ key }) => key === 'cuda.device')).toBeUndefined()
  const held = mine({ limits: { 'cuda.device': '0' }, held: { 'cuda.device': '1' } })
  expect(scopeMeters(held, CLUSTER.capacity).find(({ key }) => key === 'cuda.device')).toMatchObject({
    text: '1 / 0',
    fraction: 1,
  })
})

test('a scope says whose sessions count, and whether anything is limited', () => {
  expect(scopeNote(mine())).toBe('All your sessions together · policy students')
  expect(scopeNote(mine({ kind: 'group', policy: null, limits: { cpu: '4' } }))).toBe(
    'All members of the project together',
  )
  expect(clusterMeters({}, {})).toEqual([])
})

test('the share of a person in a project is what their sessions hold of it, each container of them', () => {
  const share = shareOf([
    aSession(1, { requested: { cpu: '2', mem: '4g', 'cuda.device': '1' }, clusterSize: 3 }),
    aSession(2, { status: 'SCHEDULED', requested: { cpu: '0.5', mem: '1g' } }),
    aSession(3, { status: 'PENDING', requested: { cpu: '8', mem: '64g' } }),
  ])
  expect(Object.fromEntries(share)).toMatchObject({ sessions: '2', cpu: '6.5', mem: '13 GiB', 'cuda.device': '3' })
})

test('each model of GPUs with a limit has a meter, with what is held in parts of a GPU', () => {
  const gpuLimits = [{ model: 'H100', policy: 'small', limit: '2', held: '1.43', left: '0.57' }]
  expect(scopeMeters(mine({ gpuLimits }), CLUSTER.capacity).at(-1)).toEqual({
    key: 'gpu H100',
    label: 'H100',
    text: '1.43 / 2',
    fraction: 0.715,
  })
})
