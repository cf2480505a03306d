import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type ApiClient, type Task } from '#manager/contract'
import { type Lab, startLab } from '../fixtures/lab.ts'
import { holdersOf, makeImage } from '../fixtures/lab-images.ts'

/**
 * Images between engines that keep them in different ways: the classic store names an image by its configuration, containerd's by its
 * manifest. With a dockerd before version 24, which has only one store, the test is skipped.
 */
const CONTAINERD = { features: { 'containerd-snapshotter': true } }
let lab: Lab
let api: ApiClient
let hasStore = false

beforeAll(async () => {
  const hosts = ['classic', 'new-one', 'new-two']
  lab = await startLab({ hosts, engines: { classic: {}, 'new-one': CONTAINERD, 'new-two': CONTAINERD } })
  ;({ api } = lab)
  hasStore = (await lab.hosts[1]?.engine.hasContainerdStore()) ?? false
})
afterAll(() => lab[Symbol.asyncDispose]())
beforeEach(({ skip }) => skip(!hasStore, 'this dockerd cannot keep images in the store of containerd'))

/** Copies an image to all hosts. @returns how it ended on each, by its name: the code of the failure, or `done` */
async function copy(reference: string): Promise<Readonly<Record<string, string>>> {
  const { id }: Task = await api.pullImage({ body: { reference, from: 'agents' } })
  const now = () => api.getTask({ params: { id } })
  await expect.poll(async () => (await now()).status).not.toBe('running')
  const { pull } = await now()
  return Object.fromEntries((pull ?? []).map(({ agentName, status, error }) => [agentName, error?.message ?? status]))
}
const host = (name: string) => {
  const found = lab.hosts.find(one => one.name === name)
  if (!found) throw new Error(`no ${name}`)
  return found
}

test.each(['classic', 'new-one'])(
  'an image of %s is copied to hosts with the same store, others say why not',
  async name => {
    const reference = `lab/of-${name}:1`
    await makeImage(lab, host(name), reference, [2])
    const outcomes = await copy(reference)
    const isNew = (other: string) => other.startsWith('new')
    for (const [other, outcome] of Object.entries(outcomes))
      expect([other, outcome]).toEqual([
        other,
        isNew(other) === isNew(name) ? 'done' : expect.stringContaining('keep images in different ways'),
      ])
    const same = lab.hosts.map(one => one.name).filter(other => isNew(other) === isNew(name))
    await expect.poll(() => holdersOf(api, reference)).toEqual(same.toSorted())
    const ids = same.map(other => host(other).engine.docker('image', 'inspect', '--format', '{{.Id}}', reference))
    expect(new Set(await Promise.all(ids)).size).toBe(1)
  },
)
