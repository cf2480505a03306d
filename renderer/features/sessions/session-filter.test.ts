import { describe, expect, test } from 'vitest'
import { aSession } from '../../testing/a-session.ts'
import { filterSessions, NEWEST_FIRST, sortSessions } from './session-filter.ts'
import {
  canTerminate,
  imageText,
  resourceLines,
  resourcesHint,
  resourcesText,
  statusText,
  wholeRequest,
} from '../../data/sessions/session-text.ts'

describe('the list of sessions', () => {
  const sessions = [
    aSession(1, { name: 'train-10', image: 'berth/pytorch:2.9' }),
    aSession(2, { name: 'train-9', status: 'PENDING', ownerEmail: 'ada@example.com' }),
    aSession(3, { name: 'Notebook', status: 'ERROR', reason: { code: 'oom_killed', message: 'Ran out of memory' } }),
  ]
  const names = (list: readonly { name: string }[]) => list.map(({ name }) => name)

  test.each([
    ['', ['train-10', 'train-9', 'Notebook']],
    ['TRAIN', ['train-10', 'train-9']],
    ['pytorch', ['train-10']],
    ['waiting ada', ['train-9']],
    ['memory', ['Notebook']],
    ['train memory', []],
  ])('the search for “%s”', (text, found) =>
    expect(names(filterSessions(sessions, { text, statuses: [], tag: '' }))).toEqual(found),
  )

  test('the filter shows only the chosen statuses', () => {
    const filter = { text: '', statuses: ['PENDING', 'ERROR'], tag: '' } as const
    expect(names(filterSessions(sessions, filter))).toEqual(['train-9', 'Notebook'])
  })

  test('the list is sorted newest first, names with numbers by value, and sessions that need attention first', () => {
    expect(names(sortSessions(sessions, NEWEST_FIRST))).toEqual(['Notebook', 'train-9', 'train-10'])
    expect(names(sortSessions(sessions, { key: 'name', descending: false }))).toEqual([
      'Notebook',
      'train-9',
      'train-10',
    ])
    expect(names(sortSessions(sessions, { key: 'status', descending: false }))).toEqual([
      'Notebook',
      'train-9',
      'train-10',
    ])
  })
})

describe('the texts of a session', () => {
  test('the text says why the session waits and its position', () => {
    const waiting = aSession(1, {
      status: 'PENDING',
      queuePosition: 3,
      reason: { code: 'capacity', message: 'Waits for 2 GPUs.' },
    })
    expect(statusText(waiting)).toMatchObject({ label: 'Waiting', reason: 'Waits for 2 GPUs · 3rd in line' })
  })

  test('a session whose agent is gone is unreachable, not ended', () => {
    const lost = aSession(1, { reachable: false })
    expect(statusText(lost).label).toBe('Unreachable')
    expect(canTerminate(lost)).toBe(true)
  })

  const gpu = aSession(1, { requested: { cpu: '0.5', mem: '1536m', 'cuda.shares': '0.3' }, shmem: '64m' })

  test('image and resources have short names', () => {
    expect(imageText('registry.example.com:5000/team/python:3.13')).toBe('team/python:3.13')
    expect(imageText('berth/python:3.13')).toBe('berth/python:3.13')
    expect(resourcesText(gpu)).toBe('0.5 CPU · 1.5 GiB · 0.3 fGPU')
    expect(resourceLines(gpu)).toEqual(['0.5 CPU · 1.5 GiB', '0.3 fGPU · 64 MiB shared'])
  })

  test('a session of several containers shows the resources of each, and how many there are', () => {
    const three = { ...gpu, clusterSize: 3 }
    expect(resourcesText(three)).toBe('3 × 0.5 CPU · 1.5 GiB · 0.3 fGPU')
    expect(resourceLines(three)).toEqual(['3 × 0.5 CPU · 1.5 GiB', '0.3 fGPU · 64 MiB shared'])
    expect(resourcesHint(three)).toBe('3 containers, each: 0.5 CPU · 1.5 GiB · 0.3 fGPU · 64 MiB shared')
    expect(wholeRequest(three)).toEqual({ cpu: 1500, mem: 3 * 1536 * 2 ** 20, 'cuda.shares': 90 })
  })
})

test('a failed batch job is found under “Failed”, one that succeeded is not', () => {
  const [main] = aSession(1).kernels
  const exited = { code: 'exited', message: 'Exited' } as const
  const [failed, succeeded] = (['failure', 'success'] as const).map((result, index) =>
    aSession(index, { kind: 'batch', status: 'TERMINATED', reason: exited, result, kernels: main ? [main] : [] }),
  )
  if (!failed || !succeeded) throw new Error('two sessions')
  expect(filterSessions([failed, succeeded], { text: '', statuses: ['ERROR'], tag: '' })).toEqual([failed])
})
