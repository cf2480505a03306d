import { expect, test } from 'vitest'
import { AgentId } from '#manager/contract'
import { type UnusedImage } from '#agent/contract'
import { type OfferedImage } from './known-images.ts'
import { chooseUnused, type CleanUpContext, onlyListed } from './choose-unused.ts'

const agent = AgentId.parse('a0000000-0000-7000-8000-000000000001')
const other = AgentId.parse('a0000000-0000-7000-8000-000000000002')
const NAME = 'cr.example:5000/lab/r:4'
const anImage = (more: Partial<UnusedImage> = {}): UnusedImage => ({
  id: 'sha256:r4',
  references: [NAME],
  repoDigests: ['cr.example:5000/lab/r@sha256:m4'],
  sizeBytes: 10,
  uniqueBytes: 4,
  labelled: true,
  ...more,
})
const offered: OfferedImage = {
  reference: NAME,
  registry: 'cr.example:5000',
  manifestDigest: 'sha256:m4',
  image: {
    ...anImage(),
    references: [NAME],
    id: 'sha256:r4',
    title: '',
    description: '',
    minimum: {},
    shmemBytes: 0,
    apps: [],
  },
}
const choose = (image: UnusedImage, more: Partial<CleanUpContext> = {}) => {
  const { remove, kept } = chooseUnused([image], {
    agentId: agent,
    inUse: [],
    registries: new Set(['cr.example:5000']),
    offered: new Map([[NAME, offered]]),
    includeLocal: false,
    ...more,
  })
  return remove.length > 0 ? 'goes' : (kept[0]?.why ?? 'no business of ours')
}

test('images that a registry can provide again are removed', () => {
  expect(choose(anImage())).toBe('goes')
  // An engine that uses other image ids, so the manifest decides.
  expect(choose(anImage({ id: 'sha256:m4' }))).toBe('goes')
})

test('images whose name belongs to a newer image are removed', () => {
  expect(choose(anImage({ id: 'sha256:r3', references: [], repoDigests: ['cr.example:5000/lab/r@sha256:m3'] }))).toBe(
    'goes',
  )
})

test('images of live sessions on this agent, or of sessions that are not placed yet, stay', () => {
  const use = (agentId: AgentId | null) => ({ inUse: [{ agentId, digest: 'sha256:r4', reference: NAME }] })
  expect(choose(anImage(), use(agent))).toContain('live session')
  expect(choose(anImage(), use(null))).toContain('live session')
  expect(choose(anImage(), use(other))).toBe('goes')
})

test('images that could not be pulled again stay unless the admin requests their removal', () => {
  const made = anImage({ references: ['berth/python:3.13'], repoDigests: [] })
  expect(choose(made)).toContain('could not be pulled again')
  expect(choose(made, { includeLocal: true })).toBe('goes')
  expect(choose(anImage(), { offered: new Map() })).toContain('could not be pulled again')
  expect(choose(anImage({ references: [NAME, 'lab/mine:1'] }))).toContain('could not be pulled again')
})

test('images of other software on the same engine are never removed', () => {
  const foreign = anImage({ references: ['postgres:18'], repoDigests: ['postgres@sha256:1'], labelled: false })
  expect(choose(foreign, { includeLocal: true })).toBe('no business of ours')
  const local = anImage({ references: ['cr.example:5000/x:1'], repoDigests: [], labelled: false })
  expect(choose(local, { includeLocal: true })).toBe('no business of ours')
})

test('of what could go, only what was listed goes, and by no other name', () => {
  const [shown, appeared] = [anImage(), anImage({ id: 'sha256:r5', references: ['cr.example:5000/lab/r:5'] })]
  const choice = (...remove: UnusedImage[]) => ({ remove, kept: [] })
  const listed = [{ digest: shown.id, references: shown.references }]
  expect(onlyListed(choice(shown, appeared), listed)).toEqual({ remove: [shown], kept: [] })
  const renamed = { ...shown, references: [NAME, 'cr.example:5000/lab/r:latest'] }
  expect(onlyListed(choice(renamed), listed)).toMatchObject({ remove: [], kept: [{ image: renamed }] })
  // A name that it has lost since is no reason to keep it.
  const bare = { ...shown, references: [] }
  expect(onlyListed(choice(bare), listed).remove).toEqual([bare])
})
