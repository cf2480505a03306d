import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { sallocArguments } from './salloc-arguments.ts'

const REQUEST = { name: 'berth-a-1', nodes: 1, cpus: 3, memBytes: 2 ** 30 + 1, gpus: 0, user: null, settings: {} }

test('GPUs are asked for by number, and by type where one is chosen', () => {
  expect(sallocArguments({ ...REQUEST, gpus: 2 })).toContain('--gres=gpu:2')
  expect(sallocArguments({ ...REQUEST, gpus: 2, gpuType: 'h100' })).toContain('--gres=gpu:h100:2')
})

test('amounts are rounded up, and memory is never left to Slurm', () => {
  expect(sallocArguments(REQUEST)).toEqual([
    '--no-shell',
    '--job-name=berth-a-1',
    '--nodes=1',
    '--ntasks=1',
    '--cpus-per-task=3',
    '--mem=1025M',
  ])
  expect(sallocArguments({ ...REQUEST, memBytes: 0 })).toContain('--mem=1M')
  // Memory and GPUs are of each node.
  expect(sallocArguments({ ...REQUEST, nodes: 3 })).toEqual(expect.arrayContaining(['--nodes=3', '--ntasks=3']))
})

const EVERYTHING = {
  ...REQUEST,
  gpus: 2,
  node: 'g1',
  exclude: ['g2', 'g3'],
  settings: {
    partition: 'gpu',
    account: 'lab',
    qos: 'urgent',
    constraint: '[a100|h100]&nvlink',
    reservation: 'course',
    timeLimitMinutes: 90,
  },
}

test('the rule for sudo that the guide shows allows every request, and no program', async () => {
  const guide = await readFile(new URL('../../../docs/admin/slurm.md', import.meta.url), 'utf8')
  const [, rule = ''] = /\/usr\/bin\/salloc (\^.*\$)/.exec(guide) ?? []
  const isAllowed = (...args: string[]) => new RegExp(rule.replaceAll('[:space:]', '\\s')).test(args.join(' '))
  expect(rule).not.toBe('')
  for (const request of [REQUEST, EVERYTHING]) expect(isAllowed(...sallocArguments(request))).toBe(true)
  const begin = sallocArguments(REQUEST).slice(0, 2)
  for (const more of [['sh'], ['--', 'sh'], [':', 'sh'], ['--bbf=/home/ada/secret'], ['--time=1', 'sh']])
    expect(isAllowed(...begin, ...more), more.join(' ')).toBe(false)
  expect(isAllowed('sh', '-c', 'id')).toBe(false)
  expect(isAllowed('--job-name=berth-a-1', 'sh')).toBe(false)
})

test('every setting of a group reaches Slurm in an argument of its own', () => {
  const settings = {
    partition: 'gpu',
    account: 'lab',
    qos: 'urgent',
    constraint: 'a100&nvlink',
    reservation: 'course',
    timeLimitMinutes: 90,
  }
  expect(sallocArguments({ ...REQUEST, gpus: 2, node: 'g1', exclude: ['g2', 'g3'], settings }).slice(6)).toEqual([
    '--gres=gpu:2',
    '--nodelist=g1',
    '--exclude=g2,g3',
    '--partition=gpu',
    '--account=lab',
    '--qos=urgent',
    '--constraint=a100&nvlink',
    '--reservation=course',
    '--time=90',
  ])
})
