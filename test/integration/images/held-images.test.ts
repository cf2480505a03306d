import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AgentId } from '#manager/contract'
import { type AgentImage } from '#agent/contract'
import { type HeldImage, listHeldImages, replaceImages } from '../../../manager/store/images/images.ts'
import { namedKey, readDisputed } from '../../../manager/store/images/image-transfers.ts'
import { insertRegistry } from '../../../manager/store/images/registries.ts'
import { saveRegistryImage } from '../../../manager/store/images/registry-images.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { PYTHON } from '../../fixtures/scripted-agent.ts'
import { insertAgent, openTestStore } from '../../fixtures/test-store.ts'

/** The copies of images on agents, grouped by a hash of their descriptions, compared with a grouping by the descriptions themselves. */

const stack = new AsyncDisposableStack()
let store: Store
const agents: AgentId[] = []

const image = (n: number, changes: Partial<AgentImage> = {}): AgentImage => ({
  ...PYTHON,
  id: `sha256:${String(n).repeat(64)}`,
  references: [`berth/image-${n}:1`],
  ...changes,
})
/** Agents describe image 2 differently in turn, and only the last one has image 4. */
const imagesOf = (nth: number): AgentImage[] => [
  image(1),
  image(2, nth % 3 === 0 ? {} : { title: `Python "3.13" \\ ${nth % 3} ✓`, minimum: { cpu: 100 * (nth % 3) } }),
  ...(nth % 2 === 0 ? [image(3, { references: ['berth/image-3:1', 'berth/image-3:latest'] })] : []),
  ...(nth === 11 ? [image(4)] : []),
]

async function groupedByDescription(): Promise<HeldImage[]> {
  const { rows } = await sql<{ image: AgentImage; holders: AgentId[] }>`
    select image, array_agg(a.id order by a.joined_at, a.id) as holders
    from agent_images i join agents a on a.id = i.agent_id where a.status <> 'REVOKED' group by digest, image
    order by digest, min(a.joined_at), (array_agg(a.id order by a.joined_at, a.id))[1]`.execute(store.db)
  return rows.flatMap(({ image, holders }) => holders.map(agentId => ({ agentId, image })))
}

beforeAll(async () => {
  store = stack.use(await openTestStore()).store
  for (let n = 0; n < 12; n++) {
    const id = await insertAgent(store.db)
    // Two agents join in the same moment, and the second half before the first.
    const joined = new Date(Date.UTC(2026, 0, 1 + (((n >> 1) + 3) % 6)))
    await sql`update agents set joined_at = ${joined} where id = ${id}`.execute(store.db)
    await replaceImages(store.db, id, imagesOf(n))
    agents.push(id)
  }
  await sql`update agents set status = 'REVOKED' where id = ${agents[5]}`.execute(store.db)
})
afterAll(() => stack.disposeAsync())

test('copies that agents describe alike come together, those of the agent that joined first at the front', async () => {
  const held = await listHeldImages(store.db)
  expect(held).toHaveLength(11 * 2 + 6 + 1)
  expect(held).toEqual(await groupedByDescription())
  expect(held.some(({ agentId }) => agentId === agents[5])).toBe(false)
})

test('a description that an agent changes is read anew, also with the images of one agent alone', async () => {
  const [first] = agents
  if (!first) throw new Error('an agent')
  await replaceImages(store.db, first, [image(1, { description: 'Another text' }), image(2)])
  expect(await listHeldImages(store.db)).toEqual(await groupedByDescription())
  const its = await listHeldImages(store.db, first)
  expect(its.map(({ image: { id, description } }) => [id, description])).toEqual([
    [image(1).id, 'Another text'],
    [image(2).id, PYTHON.description],
  ])
  expect(its.every(({ agentId }) => agentId === first)).toBe(true)
})

test('a name is disputed while it means different images: what a registry offers decides, then what all agents hold', async () => {
  const [NAME, OTHER] = ['lab.example/tool:1', 'lab.example/other:1']
  const named = (n: number) => ({ reference: NAME, digest: image(n).id })
  const disputed = async (...numbers: number[]) => [...(await readDisputed(store.db, numbers.map(named)))]
  const [honest, evil] = [await insertAgent(store.db), await insertAgent(store.db)]
  await replaceImages(store.db, honest, [image(7, { references: [NAME, OTHER] })])
  expect(await disputed(7)).toEqual([])
  expect(await disputed(7, 8)).toEqual([namedKey(named(8))])
  await replaceImages(store.db, evil, [image(8, { references: [NAME] })])
  expect(await disputed(7, 8)).toEqual([namedKey(named(7)), namedKey(named(8))])
  expect(await readDisputed(store.db, [{ reference: OTHER, digest: image(7).id }])).toEqual(new Set())

  const registry = { name: 'lab.example', url: 'https://lab.example', projects: [], username: null }
  await insertRegistry(store.db, { ...registry, sealedPassword: null, active: true })
  const offered = { registry: 'lab.example', reference: NAME, architecture: 'amd64', sizeBytes: 1, labels: {} }
  await saveRegistryImage(store.db, { ...offered, digest: image(7).id, manifestDigest: image(9).id })
  // An engine with containerd's store knows the image by its manifest.
  expect(await disputed(7, 8, 9)).toEqual([namedKey(named(8))])

  await sql`update registries set active = false`.execute(store.db)
  await sql`update agents set status = 'REVOKED' where id = ${evil}`.execute(store.db)
  expect(await disputed(7)).toEqual([])
})
