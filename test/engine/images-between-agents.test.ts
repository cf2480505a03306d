import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, type SessionId, type Task } from '#manager/contract'
import { type Lab, type LabHost, startLab } from '../fixtures/lab.ts'
import { holdersOf, makeImage } from '../fixtures/lab-images.ts'

/** Real engines, real agents and a real manager: images that only one host has reach the others. */
let lab: Lab
let api: ApiClient
let one: LabHost
let two: LabHost
let three: LabHost

beforeAll(async () => {
  lab = await startLab({ hosts: ['lab-one', 'lab-two', 'lab-three'] })
  ;({ api } = lab)
  const [first, second, third] = lab.hosts
  if (!first || !second || !third) throw new Error('no hosts')
  ;[one, two, three] = [first, second, third]
})
afterAll(() => lab[Symbol.asyncDispose]())

const idOn = ({ engine }: LabHost, reference: string) =>
  engine.docker('image', 'inspect', '--format', '{{.Id}}', reference).catch(() => undefined)
const filesIn = ({ engine }: LabHost, reference: string) =>
  engine.docker('run', '--rm', reference, 'sh', '-c', 'sha256sum /srv/*')

const holders = (reference: string) => holdersOf(api, reference)

const ended = async ({ id }: Task) => {
  await expect.poll(async () => (await api.getTask({ params: { id } })).status).not.toBe('running')
  return api.getTask({ params: { id } })
}

test('an image of one host is copied to the others, and is the same there', async () => {
  const reference = 'lab/only-here:1'
  await makeImage(lab, one, reference, [4, 4])
  const task = await ended(await api.pullImage({ body: { reference, from: 'agents' } }))
  expect(task).toMatchObject({ status: 'done', error: null })
  const byName = new Map(task.pull?.map(pull => [pull.agentName, pull]))
  expect([...byName.values()].map(({ status }) => status)).toEqual(['done', 'done', 'done'])
  expect(byName.get('lab-one')?.from).toBeUndefined()
  expect(byName.get('lab-two')).toMatchObject({ progress: { layersDone: 3, layersTotal: 3 } })
  const id = await idOn(one, reference)
  expect([await idOn(two, reference), await idOn(three, reference)]).toEqual([id, id])
  expect(await filesIn(two, reference)).toBe(await filesIn(one, reference))
  await expect.poll(() => holders(reference)).toEqual(['lab-one', 'lab-three', 'lab-two'])
})

test('a session starts on a host that lacks its image, with the leave of the setting', async () => {
  const reference = 'lab/for-session:1'
  await makeImage(lab, one, reference, [2])
  await api.updateAgent({ params: { id: one.agentId }, body: { schedulable: false } })
  try {
    const body = { image: reference, resources: { cpu: '0.5', mem: '128m' } }
    const { items } = await api.createSession({ body })
    const id = items[0]?.id as SessionId
    const show = () => api.getSession({ params: { id } })
    await expect.poll(async () => (await show()).reason.code).toBe('image_nowhere')
    await api.updateSettings({ body: { imageTransfers: 'local' } })
    await expect.poll(async () => (await show()).status).toBe('RUNNING')
    expect((await show()).kernels[0]?.agentName).not.toBe('lab-one')
    await api.deleteSession({ params: { id } })
  } finally {
    await api.updateAgent({ params: { id: one.agentId }, body: { schedulable: true } })
    await api.updateSettings({ body: { imageTransfers: 'never' } })
  }
})

test('a taker that is killed in the middle fails with words, goes on with what has arrived, and keeps none of it', async () => {
  const reference = 'lab/broken-off:1'
  // The last layer takes long enough for the kill also on a fast machine.
  await makeImage(lab, one, reference, [8, 8, 256])
  const body = { reference, from: 'agents' as const, agentIds: [three.agentId] }
  const task = await api.pullImage({ body })
  const pullOf = async ({ id }: Task) => (await api.getTask({ params: { id } })).pull?.[0]
  await expect
    .poll(async () => (await pullOf(task))?.progress?.layersDone ?? 0, { interval: 10 })
    // The lowest layer is there, for another image.
    .toBeGreaterThan(1)
  three.agent.kill('SIGKILL')
  await three.agent.exited
  const failed = await ended(task)
  expect(failed).toMatchObject({ status: 'failed', pull: [{ status: 'failed' }] })
  expect(failed.error?.message).toMatch(/lab-three|1 of 1/)
  expect(await idOn(three, reference)).toBeUndefined()
  const taken = join(three.data, 'agent', 'taken-images')
  const files = async () =>
    (await readdir(taken, { recursive: true })).filter(name => /[0-9a-f]{64}$|partial/.test(name))
  const arrived = (await files()).filter(name => !name.endsWith('partial'))
  await three.restart()
  // Half of a file is of no use; whole ones wait for the next request.
  await expect.poll(async () => (await files()).toSorted()).toEqual(arrived.toSorted())
  const before = arrived.filter(name => name.includes('/')).length
  expect(before).toBeGreaterThan(0)
  const again = await ended(await api.pullImage({ body }))
  expect(again).toMatchObject({ status: 'done', error: null })
  expect(await idOn(three, reference)).toBe(await idOn(one, reference))
  expect(await filesIn(three, reference)).toBe(await filesIn(one, reference))
  expect(await readdir(taken)).toEqual([])
})

test('a giver that is killed in the middle is replaced by another host, and layers that have arrived are kept', async () => {
  const reference = 'lab/large:1'
  await makeImage(lab, one, reference, [32, 32, 32])
  expect(
    await ended(await api.pullImage({ body: { reference, from: 'agents', agentIds: [two.agentId] } })),
  ).toMatchObject({ status: 'done' })
  const task = await api.pullImage({ body: { reference, from: 'agents', agentIds: [three.agentId] } })
  const now = async () => (await api.getTask({ params: { id: task.id } })).pull?.[0]
  await expect.poll(async () => (await now())?.progress?.layersDone ?? 0, { interval: 10 }).toBeGreaterThan(0)
  // The host that joined first gives first.
  const giver = (await now())?.from
  const [killed, other] = giver === two.name ? [two, one] : [one, two]
  expect(giver).toBe(killed.name)
  killed.agent.kill('SIGKILL')
  expect(await ended(task)).toMatchObject({ status: 'done', error: null })
  expect((await now())?.from).toBe(other.name)
  expect(await filesIn(three, reference)).toBe(await filesIn(other, reference))
})
