import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { PYTHON, type ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** An agent that reports an image of its own under the name of another one, where agents may take images from each other. */
let cluster: SessionsCluster

beforeAll(async () => {
  cluster = await startSessionsCluster({ slowTickMs: 200 })
  await cluster.api.updateSettings({ body: { imageTransfers: 'local' } })
})
afterEach(() => cluster.reset())
afterAll(() => cluster[Symbol.asyncDispose]())

const [NAME = ''] = PYTHON.references
/** The lowest digest comes first where two images have as many holders. */
const FALSE = { ...PYTHON, id: `sha256:${'0'.repeat(64)}` }
const NOTHING = { cpu: 0, mem: 0 }
const SMALL = { resources: { cpu: '1', mem: '1g' } }

const joinEmpty = () => cluster.join({ images: [] })
const offersOf = (agent: ScriptedAgent) =>
  agent.requests('create_kernel').map(({ offer, spec }) => [offer?.id, spec.image.digest])

test('a session is not given the image of a host that has another one under its name', async () => {
  const honest = await cluster.join({ capacity: NOTHING })
  await cluster.join({ images: [FALSE], capacity: NOTHING })
  const empty = await joinEmpty()
  const { id } = await cluster.launch(SMALL)
  await expect.poll(() => cluster.reasonOf(id)).toMatch(/image/i)
  expect(offersOf(empty)).toEqual([])
  expect(honest.requests('create_kernel')).toEqual([])
  // The hosts agree again: the next look of the scheduler starts the session.
  honest.images = [FALSE]
  honest.report(true)
  await cluster.reach(id, 'RUNNING')
  expect(offersOf(empty)).toEqual([[FALSE.id, FALSE.id]])
})

test('agents are asked for no image whose name they disagree about', async () => {
  await cluster.join()
  const evil = await cluster.join({ images: [FALSE] })
  const empty = await joinEmpty()
  const pull = () => cluster.api.pullImage({ body: { reference: NAME, from: 'agents', agentIds: [empty.id] } })
  const refused = await refusal(pull())
  expect(refused.code).toBe('image_ambiguous')
  expect(String(refused.detail['why'])).toContain(NAME)
  evil.images = []
  evil.report(true)
  await expect.poll(async () => (await pull().catch(() => undefined))?.status).toBe('running')
  await expect.poll(() => empty.requests('take_image').map(({ offer }) => offer.id)).toEqual([PYTHON.id])
})

test('a session gives a host no image under the name of the toolbox, or of a base of recipes', async () => {
  const images = ['berth/toolbox:0123456789ab', 'debian:trixie-slim'].map((reference, at) => {
    return { ...PYTHON, references: [reference], id: `sha256:${String(at).repeat(64)}` }
  })
  await cluster.join({ images, capacity: NOTHING })
  const empty = await joinEmpty()
  for (const { references } of images) {
    const { id } = await cluster.launch({ ...SMALL, image: references[0] ?? '' })
    await cluster.reach(id, 'RUNNING')
  }
  expect(empty.requests('create_kernel').map(({ offer }) => [offer?.id, offer?.references])).toEqual(
    images.map(({ id }) => [id, []]),
  )
})
