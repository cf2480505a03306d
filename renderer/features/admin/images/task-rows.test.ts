import { expect, test } from 'vitest'
import { AgentId, type AgentPull, type Task } from '#manager/contract'
import { shownTasks, taskRow } from './task-rows.ts'

const MiB = 2 ** 20
const ID = '01900000-0000-7000-8000-000000000001'
const aTask = (changes: Partial<Task> = {}): Task => ({
  id: ID,
  kind: 'pull',
  target: 'cr.example.org/lab/torch:2',
  status: 'running',
  error: null,
  rescan: null,
  pull: null,
  copy: null,
  backup: null,
  sessionId: null,
  startedBy: 'admin@example.org',
  createdAt: '2026-05-04T08:00:00.000Z',
  endedAt: null,
  version: 1,
  ...changes,
})
const aPull = (changes: Partial<AgentPull> = {}): AgentPull => ({
  agentId: AgentId.parse(ID),
  agentName: 'gpu-one',
  status: 'pulling',
  progress: null,
  error: null,
  ...changes,
})
const aRescan = (changes: Partial<NonNullable<Task['rescan']>> = {}): NonNullable<Task['rescan']> => ({
  repositoriesDone: 1,
  repositoriesTotal: 1,
  tagsDone: 4,
  tagsTotal: 4,
  images: 3,
  unlabelled: 0,
  removed: 0,
  problemsTotal: 0,
  problems: [],
  ...changes,
})

test('a pull has a bar for each agent, and below it one for each layer', () => {
  const layers = [
    { id: 'aaaaaaaaaaaa', status: 'Downloading', bytesDone: MiB, bytesTotal: 4 * MiB },
    { id: 'bbbbbbbbbbbb', status: 'Already exists', bytesDone: 0, bytesTotal: 0 },
  ]
  const progress = { layersDone: 1, layersTotal: 2, bytesDone: MiB, bytesTotal: 4 * MiB, layers }
  const row = taskRow(aTask({ pull: [aPull({ progress }), aPull({ agentName: 'gpu-two', status: 'waiting' })] }))
  expect(row.text).toBe('0 of 2 agents have it')
  expect(row.agents.map(({ label, text, fraction }) => [label, text, fraction])).toEqual([
    ['gpu-one', '1 MiB / 4 MiB', 0.25],
    ['gpu-two', 'Waits', 0],
  ])
  expect(row.agents[0]?.layers).toEqual([
    { label: 'aaaaaaaaaaaa', text: 'Pulling · 1 MiB / 4 MiB', fraction: 0.25 },
    { label: 'bbbbbbbbbbbb', text: 'Already there', fraction: 1 },
  ])
})

test('an image of a session is made on an agent and pushed from it; nobody counts agents that have it', () => {
  const made = (status: AgentPull['status']) => taskRow(aTask({ kind: 'save', pull: [aPull({ status })] }))
  expect(made('pulling').text).toBe('Being made on gpu-one')
  expect(made('pulling').agents[0]?.text).toBe('Being made')
  expect(made('pushing').text).toBe('Being pushed from gpu-one')
})

test('a build has the end of its log instead of bars', () => {
  const log = 'Step 1/2 : FROM busybox\n\n'
  const row = taskRow(aTask({ kind: 'build', pull: [aPull()], log }))
  expect(row).toMatchObject({ text: 'Being built on gpu-one', agents: [], log: 'Step 1/2 : FROM busybox' })
})

test('a failed task and a rescan with findings stay for ten minutes, or until they are closed', () => {
  const endedAt = '2026-05-04T09:00:00.000Z'
  const now = Date.parse('2026-05-04T09:05:00.000Z')
  const failed = aTask({ status: 'failed', endedAt })
  const found = aTask({
    id: ID.replace(/1$/, '2'),
    kind: 'rescan',
    status: 'done',
    endedAt,
    rescan: aRescan({
      unlabelled: 2,
      removed: 1,
      problemsTotal: 7,
      problems: Array.from({ length: 7 }, (_, at) => ({ reference: `lab/box:${at}`, why: 'no manifest' })),
    }),
  })
  const fine = aTask({ id: ID.replace(/1$/, '3'), kind: 'rescan', status: 'done', endedAt, rescan: aRescan() })
  const shown = (dismissed: readonly string[], at = now) =>
    shownTasks([failed, found, fine], { kinds: ['pull', 'rescan'], dismissed: new Set(dismissed), now: at })
  expect(shown([])).toEqual([failed, found])
  expect(shown([failed.id])).toEqual([found])
  expect(shown([], now + 10 * 60_000)).toEqual([])
  const { text, remarks } = taskRow(found)
  expect(text).toBe('3 images with labels found')
  expect(remarks.slice(0, 3)).toEqual([
    '2 images have no labels of Berth and are left out.',
    '1 image is gone from the registry.',
    'lab/box:0: no manifest',
  ])
  expect(remarks.at(-1)).toBe('2 more problems')
})
