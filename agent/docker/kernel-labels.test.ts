import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { type KernelLabel } from '#agent/contract'
import { AgentId, KernelId, ManagerId, SessionId, UserId } from '#manager/contract'
import { signKernelLabel, slurmLabels, verifyKernelLabels } from './kernel-labels.ts'

const key = Buffer.alloc(32, 7)
const id = (last: string) => `01920000-0000-7000-8000-00000000000${last}`
const label: KernelLabel = {
  v: 1,
  managerId: ManagerId.parse(id('1')),
  agentId: AgentId.parse(id('2')),
  sessionId: SessionId.parse(id('3')),
  sessionName: 'name',
  kernelId: KernelId.parse(id('4')),
  role: 'main',
  attempt: 2,
  owner: { id: UserId.parse(id('5')), email: 'a@localhost' },
  resourceGroup: 'default',
  image: { reference: 'x', digest: 'sha256:1' },
  slots: { cpu: 1000 },
  shmemBytes: 0,
  devices: [],
  environ: {},
  startupCommand: null,
  apps: [],
  createdAt: '2026-01-01T00:00:00.000Z',
}

const verify = (labels: Record<string, string>, inherited: readonly string[] = []) =>
  verifyKernelLabels({ id: 'this', labels }, { labelKey: key, inherited: new Set(inherited) })

test('a container that the manager has named needs no signature of ours, but consistent labels', () => {
  const theirs = signKernelLabel(label, Buffer.alloc(32, 8))
  expect(verify(theirs, ['this'])).toEqual(label)
  expect(verify(theirs, ['another'])).toBeUndefined()
  expect(verify({ ...theirs, 'berth.manager': id('9') }, ['this'])).toBeUndefined()
})

test('a signed label can be read back', () => {
  expect(verify(signKernelLabel(label, key))).toEqual(label)
})

function signed(text: string): Record<string, string> {
  const signature = createHmac('sha256', key).update(`berth.kernel.v1\n${text}`).digest('hex')
  return { 'berth.kernel': text, 'berth.sig': signature }
}

test.each([
  ['without a signature', (labels: Record<string, string>) => ({ ...labels, 'berth.sig': '' })],
  ['signed by another agent', () => signKernelLabel(label, Buffer.alloc(32, 8))],
  [
    'with another owner',
    (l: Record<string, string>) => ({ ...l, 'berth.kernel': l['berth.kernel']!.replace('a@', 'b@') }),
  ],
  ['filed under another manager', (labels: Record<string, string>) => ({ ...labels, 'berth.manager': id('9') })],
  ['filed under another kernel', (labels: Record<string, string>) => ({ ...labels, 'berth.kernel-id': id('9') })],
  ['with no labels at all', () => ({})],
  ['signed, but not JSON', () => signed('{')],
])('a container %s is ignored', (_what, change) => {
  expect(verify(change(signKernelLabel(label, key)))).toBeUndefined()
})

test('a container tells which job of Slurm it belongs to, for the epilog of the node', () => {
  expect(slurmLabels({ slurmJob: { id: '21', startedAt: 110 } })).toEqual({
    'berth.slurm-job': '21',
    'berth.slurm-start': '110',
  })
  expect(slurmLabels({ slurmJob: { id: '21', startedAt: null } })).toEqual({ 'berth.slurm-job': '21' })
  expect(slurmLabels({})).toEqual({})
})
