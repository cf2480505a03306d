import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { gpuIndexes, readSqueue } from './read-squeue.ts'

/** Answers of real controllers, without the fields that are never read. */
const ANSWERS = new URL('answers/', import.meta.url)
const answer = (version: string, name: string) => readFileSync(new URL(`${version}/${name}.json`, ANSWERS), 'utf8')
const read = (text: string) => readSqueue(text, { prefix: 'berth-', uid: 0 })
const VERSIONS = readdirSync(ANSWERS).toSorted()

test('there are answers of three versions', () => expect(VERSIONS).toEqual(['22.05', '24.11', '26.05']))

describe.each(VERSIONS)('squeue of Slurm %s', version => {
  const jobs = read(answer(version, 'squeue'))
  const named = (name: string) => jobs.find(job => job.name === name)

  test('a granted job has its node, its GPUs and its end', () => {
    expect(named('berth-01a2-1')).toMatchObject({
      state: 'granted',
      nodes: [{ name: 'g1', gpus: [0, 1, 2] }],
      isPreempted: false,
      identity: { restarts: 0, startedAt: expect.any(Number) as number, submittedAt: expect.any(Number) as number },
    })
    const job = named('berth-01a2-1')
    expect(job?.state === 'granted' && (job.endsAt?.getTime() ?? 0) / 1000 - (job.identity.startedAt ?? 0)).toBe(3600)
  })

  test('a job on two nodes has the GPUs of each', () => {
    expect(named('berth-two-1')).toMatchObject({
      nodes: [
        { name: 'g1', gpus: [3] },
        { name: 'g2', gpus: [0] },
      ],
    })
  })

  test('a waiting job has a reason and an estimated start, which is no part of its identity', () => {
    const job = named('berth-01a2-2')
    expect(job).toMatchObject({ state: 'waiting', reason: 'Resources', identity: { startedAt: null } })
    expect(job?.state === 'waiting' && job.expectedAt).toBeInstanceOf(Date)
  })

  test('jobs of other names and of other users are left out', () => {
    expect(readSqueue(answer(version, 'squeue'), { prefix: 'berth-two', uid: 0 })).toHaveLength(1)
    expect(readSqueue(answer(version, 'squeue'), { prefix: 'berth-', uid: 1000 })).toEqual([])
  })
})

test.each([
  ['cancelled', 'cancelled'],
  ['timeout', 'timeout'],
  ['preempted', 'preempted'],
  ['node-down', 'node_failed'],
])('a job that is %s has ended', (name, end) => {
  for (const version of ['24.11', '26.05']) {
    const [job] = readSqueue(answer(version, `scontrol-job-${name}`), { prefix: '', uid: 0 })
    expect(job).toMatchObject({ state: 'ended', end })
  }
})

test('a limit of a QOS is the reason of a job without an estimate', () => {
  const [job] = readSqueue(answer('26.05', 'scontrol-job-qos-pending'), { prefix: '', uid: undefined })
  expect(job).toMatchObject({ state: 'waiting', reason: 'QOSMaxGRESPerUser', expectedAt: null })
})

test.each([
  ['the answer of Slurm 22.05 without its controller', answer('22.05', 'squeue-controller-away')],
  ['no text', ''],
  ['a text before the answer', `warning\n${answer('24.11', 'squeue')}`],
  ['an answer that was cut off', answer('24.11', 'squeue').slice(0, -20)],
  ['an answer without jobs', '{"errors":[]}'],
])('%s is an error, not an empty list', (_, text) => expect(() => read(text)).toThrow())

test.each([
  ['gpu:a100:3(IDX:0-1,3)', [0, 1, 3]],
  ['gpu:2(IDX:4-5)', [4, 5]],
  ['gpu(IDX:0)', [0]],
  ['nic:1(IDX:2),gpu:a100:1(IDX:1)', [1]],
  ['gpu:a100:1(IDX:1),gpu:h100:2(IDX:2-3)', [1, 2, 3]],
  ['gpu:a100:1(CNT:1)', []],
  ['gpu:a100:0(IDX:)', []],
  ['', []],
])('the GPUs of %j are %j', (text, indexes) => expect(gpuIndexes(text)).toEqual(indexes))
