import { describe, expect, test } from 'vitest'
import { AgentId, AppError, SessionSpec } from '#manager/contract'
import { type AgentImage } from '#agent/contract'
import { type KnownImages, type OfferedImage } from '../images/known-images.ts'
import { type AgentSnapshot } from '../scheduler/plan/index.ts'
import { resolveSpec } from './resolve-spec.ts'

const GiB = 2 ** 30
const agentId = (n: number) => AgentId.parse(`a0000000-0000-7000-8000-${String(n).padStart(12, '0')}`)
const image = (more: Partial<AgentImage> = {}): AgentImage => ({
  references: ['berth/python:3.13'],
  id: 'sha256:1',
  sizeBytes: 1,
  title: '',
  description: '',
  minimum: {},
  shmemBytes: 0,
  apps: [],
  labelled: true,
  ...more,
})
const agent = (n: number, more: Partial<AgentSnapshot> = {}): AgentSnapshot => ({
  id: agentId(n),
  name: `agent-${n}`,
  capacity: { cpu: 4000, mem: 8 * GiB },
  occupied: {},
  devices: [],
  images: new Set(['sha256:1']),
  schedulable: true,
  connected: true,
  ...more,
})
const known = (held: KnownImages['held'], more: Partial<KnownImages> = {}): KnownImages => ({
  held,
  offered: new Map(),
  minimums: new Map(),
  domains: new Map(),
  aliases: new Map(),
  ...more,
})
const resolve = (spec: object, images = [image()], agents = [agent(1)]) =>
  resolveSpec(
    SessionSpec.parse({ image: 'berth/python:3.13', ...spec }),
    known(images.flatMap(held => agents.map(({ id }) => ({ agentId: id, image: held })))),
    { agents },
  )
const offeredImage = (id: string, minimum = {}): OfferedImage => ({
  reference: 'cr.example/lab/r:4',
  registry: 'cr.example',
  manifestDigest: 'sha256:manifest',
  image: image({ id, references: ['cr.example/lab/r:4'], minimum }),
})
const codeOf = (call: () => unknown) => {
  try {
    call()
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, ...error.detail }
  }
  return undefined
}

describe('amounts of a request', () => {
  test('missing amounts are filled in, without a notice', () => {
    expect(resolve({})).toMatchObject({
      requested: { cpu: 1000, mem: GiB },
      shmemBytes: 64 * 2 ** 20,
      notices: [],
    })
    const demanding = [image({ minimum: { cpu: 2000, mem: 2 * GiB }, shmemBytes: GiB })]
    expect(resolve({}, demanding)).toMatchObject({
      requested: { cpu: 2000, mem: 2 * GiB },
      shmemBytes: GiB,
      notices: [],
    })
  })

  test('each slot is compared with its minimum', () => {
    const demanding = [image({ minimum: { cpu: 2000, mem: 2 * GiB } })]
    const { requested, notices } = resolve({ resources: { cpu: '4', mem: '1g' } }, demanding)
    expect(requested).toEqual({ cpu: 4000, mem: 2 * GiB })
    expect(notices).toEqual([
      {
        code: 'raised_to_minimum',
        message: 'The request was raised to the minimum of the image: 2 GiB RAM.',
        cause: 'raised_to_minimum',
        values: { amounts: '2 GiB RAM' },
      },
    ])
  })

  test('an amount of 0 is no request for that slot', () => {
    expect(resolve({ resources: { 'cuda.device': '0' } }).requested).not.toHaveProperty('cuda.device')
  })

  test('shared memory stays within RAM', () => {
    expect(resolve({ resources: { mem: '512m' }, shmem: '1g' })).toMatchObject({
      shmemBytes: 512 * 2 ** 20,
      notices: [{ code: 'shmem_lowered' }],
    })
  })
})

describe('the image of a request', () => {
  test('the tag may be left out if it is latest', () => {
    expect(resolve({ image: 'debian' }, [image({ references: ['debian:latest'] })]).reference).toBe('debian:latest')
  })

  test('of several images with a name, the one that most connected agents hold is used', () => {
    const agents = [agent(1, { connected: false }), agent(2, { connected: false }), agent(3)]
    const held = [
      { agentId: agentId(1), image: image({ id: 'sha256:old' }) },
      { agentId: agentId(2), image: image({ id: 'sha256:old' }) },
      { agentId: agentId(3), image: image({ id: 'sha256:new' }) },
    ]
    const spec = SessionSpec.parse({ image: 'berth/python:3.13' })
    expect(resolveSpec(spec, known(held), { agents }).image.id).toBe('sha256:new')
  })

  test('an image that nobody holds comes from a registry', () => {
    const offered = new Map([['cr.example/lab/r:4', offeredImage('sha256:offered', { cpu: 2000 })]])
    const spec = SessionSpec.parse({ image: 'cr.example/lab/r:4' })
    const { image: found, reference, requested } = resolveSpec(spec, known([], { offered }), { agents: [agent(1)] })
    expect(found.id).toBe('sha256:offered')
    expect(reference).toBe('cr.example/lab/r:4')
    expect(requested.cpu).toBe(2000)
    const held = [{ agentId: agentId(1), image: image({ id: 'sha256:held', references: ['cr.example/lab/r:4'] }) }]
    expect(resolveSpec(spec, known(held, { offered }), { agents: [agent(1)] }).image.id).toBe('sha256:held')
  })

  test('the full name that Docker uses is accepted', () => {
    const held = [image({ references: ['debian:13', 'lab/r:latest'] })]
    expect(resolve({ image: 'docker.io/library/debian:13' }, held).reference).toBe('debian:13')
    expect(resolve({ image: 'docker.io/lab/r' }, held).reference).toBe('lab/r:latest')
  })

  test('an image that nobody in the group holds is unknown', () => {
    expect(codeOf(() => resolve({ image: 'other' }))).toMatchObject({ code: 'image_not_found', image: 'other' })
  })
})

describe('requests that are too large', () => {
  test('an error about one slot has the slot, the amount needed and the capacity', () => {
    expect(codeOf(() => resolve({ resources: { cpu: '1', mem: '9g' } }))).toMatchObject({
      code: 'request_too_large',
      slot: 'mem',
      needed: String(9 * GiB),
      largest: String(8 * GiB),
    })
  })

  test('if each slot fits but not all together, the error names what is missing', () => {
    const agents = [agent(1), agent(2, { capacity: { cpu: 1000, mem: 64 * GiB } })]
    expect(codeOf(() => resolve({ resources: { cpu: '4', mem: '32g' } }, [image()], agents))).toMatchObject({
      code: 'request_too_large',
    })
  })

  test('no request is too large while no agent is connected, or a larger one is only away', () => {
    expect(resolve({ resources: { cpu: '64' } }, [image()], [agent(1, { connected: false })]).requested.cpu).toBe(
      64_000,
    )
    const away = agent(2, { connected: false, capacity: { cpu: 64_000, mem: 64 * GiB } })
    expect(resolve({ resources: { cpu: '64' } }, [image()], [agent(1), away]).requested.cpu).toBe(64_000)
  })
})
