import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type ApiClient, listedIn, type PullProgress, type Task } from '#manager/contract'
import { type UnusedImage } from '#agent/contract'
import { startRegistry, type TestRegistry } from '../../fixtures/registry.ts'
import { hang, PYTHON, ScriptedError } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** Images of agents and of a registry: what users see and launch, and the actions of administrators. */
const LABELS = {
  'berth.image.title': 'R 4',
  'berth.image.min.cpu': '1',
  'berth.image.min.mem': '512m',
  'berth.image.apps': '[{"name":"rstudio","protocol":"http","port":8787}]',
}
const BOB = { username: 'bob', password: 's3cret' }

let cluster: SessionsCluster
let cr: TestRegistry
/** The image lab/r:4 of the registry. */
let r4: { config: string; manifest: string }
let name: string

beforeAll(async () => {
  cluster = await startSessionsCluster()
  cr = await startRegistry({ htpasswd: BOB })
  r4 = await cr.push('lab/r', ['4'], { labels: LABELS })
  name = `${cr.name}/lab/r:4`
  await cluster.api.createRegistry({ body: { name: cr.name, url: cr.url, ...BOB } })
  const { id } = await cluster.api.rescanRegistry({ params: { name: cr.name } })
  await vi.waitFor(async () => expect((await cluster.api.getTask({ params: { id } })).status).toBe('done'), 120_000)
})
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
  await cr[Symbol.asyncDispose]()
})
afterEach(() => cluster.reset())

const imageNamed = async (reference: string, api: ApiClient = cluster.api) =>
  (await api.listImages()).items.find(image => image.reference === reference)
const held = { ...PYTHON, references: [] as string[], minimum: { cpu: 1000 }, title: 'R 4' }
const pulledR4 = () => ({
  ...held,
  id: r4.config,
  references: [name],
  repoDigests: [`${cr.name}/lab/r@${r4.manifest}`],
})

describe('an image for other processors', () => {
  const onArm = { ...PYTHON, id: `sha256:${'c'.repeat(64)}`, references: ['lab/arm:1'], architecture: 'arm64' }
  const python = { ...PYTHON, architecture: 'amd64' }

  test('it is named in the list, and a session of it waits while no host runs it', async () => {
    await cluster.join({ images: [python, onArm], architectures: ['amd64', '386'] })
    await expect.poll(async () => (await imageNamed('lab/arm:1'))?.architecture).toBe('arm64')
    expect(await imageNamed(PYTHON.references[0] ?? '')).not.toHaveProperty('architecture')
    const { id } = await cluster.launch({ image: 'lab/arm:1' })
    await expect.poll(() => cluster.reasonOf(id)).toBe('architecture_nowhere')
    const emulates = await cluster.join({ images: [onArm], architectures: ['amd64', '386', 'arm64'] })
    expect((await cluster.reach(id, 'RUNNING')).kernels[0]?.agentId).toBe(emulates.id)
  })

  test('an agent that describes it differently does not keep its sessions from other hosts', async () => {
    const id = python.id
    await cluster.join({ images: [{ ...onArm, id }], architectures: ['arm64'], capacity: { cpu: 0, mem: 0 } })
    const agent = await cluster.join({ images: [python], architectures: ['amd64'] })
    const session = await cluster.launch()
    expect((await cluster.reach(session.id, 'RUNNING')).kernels[0]?.agentId).toBe(agent.id)
  })
})

describe('an image that only a registry has', () => {
  test('the agent pulls the image at launch, with a password that is stored nowhere else', async () => {
    const agent = await cluster.join()
    const { id } = await cluster.launch({ image: name })
    const session = await cluster.reach(id, 'RUNNING')
    expect(session).toMatchObject({ image: name, imageDigest: r4.config, requested: { cpu: '1', mem: '1073741824' } })
    expect(session.apps.map(app => app.name)).toEqual(['rstudio', 'terminal', 'sshd'])
    const [request] = agent.requests('create_kernel')
    expect(request?.registryAuth).toEqual({ serverAddress: cr.name, ...BOB })
    expect(request?.spec.image).toEqual({ reference: name, digest: r4.config, manifestDigest: r4.manifest })
    // The time of a pull is added.
    expect(request?.startWithinMs).toBeGreaterThan(20 * 60_000)
    expect(JSON.stringify([request?.spec, session])).not.toContain('s3cret')
  })

  test('a session starts on an agent that holds the image, if there is one, and then needs no password', async () => {
    await cluster.join()
    const holder = await cluster.join({ images: [PYTHON, pulledR4()] })
    await cluster.join()
    expect(await imageNamed(name)).toMatchObject({ agentIds: [holder.id], pullable: true, outdated: false })
    const { id } = await cluster.launch({ image: name })
    expect((await cluster.reach(id, 'RUNNING')).kernels[0]?.agentId).toBe(holder.id)
    expect(holder.requests('create_kernel')[0]?.registryAuth).toBeUndefined()
  })

  test('users see how many agents hold the image, superadmins see which', async () => {
    const holder = await cluster.join({ images: [pulledR4()] })
    expect(await imageNamed(name)).toMatchObject({ holders: 1, agentIds: [holder.id] })
    const user = await cluster.addUser('reader@example.org')
    const seen = (await user.listImages()).items.find(({ reference }) => reference === name)
    expect(seen?.holders).toBe(1)
    expect(JSON.stringify(await user.listImages())).not.toContain(holder.id)
  })

  test('a list of images is searched, sorted and paged by the server; it names the first agents to superadmins alone', async () => {
    const numbered = (n: number) => ({
      ...{ ...PYTHON, id: `sha256:${String(n).repeat(64)}`, references: [`listed/tool:${n}`] },
      ...{ title: `Tool ${n % 2}`, sizeBytes: n * 2 ** 20 },
    })
    const agents = [await cluster.join({ images: [numbered(1), numbered(2), numbered(3)] })]
    for (let more = 0; more < 3; more++) agents.push(await cluster.join({ images: [numbered(2)] }))
    type Query = NonNullable<NonNullable<Parameters<ApiClient['listImages']>[0]>['query']>
    const ask = async (query: Query, api = cluster.api) => {
      const { items, total, nextCursor } = await api.listImages({ query: { search: 'LISTED tool', ...query } })
      return { tags: items.map(({ reference }) => reference.split(':')[1]), total, nextCursor, items }
    }
    const first = await ask({ sort: '-size', limit: 2 })
    expect(first).toMatchObject({ tags: ['3', '2'], total: 3 })
    const rest = await ask({ sort: '-size', limit: 2, cursor: first.nextCursor ?? '' })
    expect(rest).toMatchObject({ tags: ['1'], total: 3, nextCursor: null })
    expect(await ask({ sort: 'title' })).toMatchObject({ tags: ['2', '1', '3'], nextCursor: null })
    expect(await ask({ sort: '-agents', limit: 1 })).toMatchObject({
      tags: ['2'],
      items: [
        { holders: 4, agentIds: agents.map(({ id }) => id), firstAgents: agents.slice(0, 3).map(one => one.name) },
      ],
    })
    expect(await ask({ search: name, limit: 5 })).toMatchObject({ total: 1, items: [{ firstAgents: [] }] })
    const user = await cluster.addUser('lister@example.org')
    const seen = await ask({ sort: '-agents', limit: 2 }, user)
    expect(seen).toMatchObject({ tags: ['2', '3'], total: 3 })
    expect(seen.items.some(image => 'agentIds' in image || 'firstAgents' in image)).toBe(false)
    expect(await refusal(ask({ limit: 2, cursor: '-2' }))).toMatchObject({ code: 'bad_request' })
  })

  test('the image is pulled to another agent when its holders are full', async () => {
    const holder = await cluster.join({ images: [pulledR4()], capacity: { cpu: 1000, mem: 2 ** 30 } })
    const first = await cluster.launch({ image: name })
    expect((await cluster.reach(first.id, 'RUNNING')).kernels[0]?.agentId).toBe(holder.id)
    const other = await cluster.join()
    const second = await cluster.launch({ image: name })
    expect((await cluster.reach(second.id, 'RUNNING')).kernels[0]?.agentId).toBe(other.id)
    expect(other.requests('create_kernel')[0]?.registryAuth).toBeDefined()
  })

  test('a session waits, with the reason, once the registry is deactivated', async () => {
    await cluster.join({ capacity: { cpu: 1000, mem: 2 ** 30 } })
    const blocker = await cluster.launch()
    await cluster.reach(blocker.id, 'RUNNING')
    const { id } = await cluster.launch({ image: name })
    await expect.poll(() => cluster.reasonOf(id)).toBe('capacity')
    const params = { name: cr.name }
    await cluster.api.updateRegistry({ params, body: { active: false } })
    onTestFinished(async () => {
      await cluster.api.updateRegistry({ params, body: { active: true } })
    })
    await cluster.api.deleteSession({ params: { id: blocker.id } })
    await expect.poll(() => cluster.reasonOf(id)).toBe('image_nowhere')
    expect(await refusal(cluster.launch({ image: name }))).toMatchObject({ code: 'image_not_found' })
    expect(await imageNamed(name)).toBeUndefined()
  })

  test('what-if says that the session would start now', async () => {
    await cluster.join()
    expect(await cluster.api.whatIf({ body: { image: name } })).toMatchObject({ startsNow: true })
  })

  test('it starts where its architecture runs, and until such a host comes, the outlook and the session say so', async () => {
    const other = await cluster.join({ architectures: ['arm64', 'arm'] })
    const why = { code: 'architecture_nowhere', message: expect.stringContaining('for amd64 processors') as string }
    expect(await cluster.api.whatIf({ body: { image: name } })).toMatchObject({ startsNow: false, reason: why })
    const { id } = await cluster.launch({ image: name })
    await expect.poll(() => cluster.reasonOf(id)).toBe('architecture_nowhere')
    const fitting = await cluster.join({ architectures: ['amd64', '386'] })
    expect((await cluster.reach(id, 'RUNNING')).kernels[0]?.agentId).toBe(fitting.id)
    expect(other.requests('create_kernel')).toEqual([])
  })

  test('an image with another content in the registry than on an agent is marked as outdated', async () => {
    await cluster.join({ images: [{ ...pulledR4(), id: `sha256:${'b'.repeat(64)}`, repoDigests: [] }] })
    expect(await imageNamed(name)).toMatchObject({ outdated: true, pullable: false })
  })
})

describe('aliases', () => {
  test('an alias works wherever an image is named; the session has the name of the image', async () => {
    const agent = await cluster.join({ images: [PYTHON, pulledR4()] })
    expect(await cluster.api.putImageAlias({ body: { alias: 'r', reference: name } })).toEqual({
      ...{ alias: 'r', reference: name },
    })
    onTestFinished(() => cluster.api.deleteImageAlias({ params: { alias: 'r' } }))
    expect((await imageNamed(name))?.aliases).toEqual(['r'])
    expect((await imageNamed(PYTHON.references[0] ?? ''))?.aliases).toEqual([])
    const { id } = await cluster.launch({ image: 'r' })
    expect((await cluster.reach(id, 'RUNNING')).image).toBe(name)
    expect(await cluster.api.whatIf({ body: { image: 'r' } })).toMatchObject({ startsNow: true })
    const user = await cluster.addUser('alias-reader@example.org')
    expect((await user.listImages()).items.find(({ reference }) => reference === name)?.aliases).toEqual(['r'])
    const { target } = await cluster.api.pullImage({ body: { reference: 'r', agentIds: [agent.id] } })
    expect(target).toBe(name)
    expect(await refusal(cluster.launch({ image: 'r:latest' }))).toMatchObject({ code: 'image_not_found' })
  })

  test('an alias is unique, names an image that there is, and is no name of an image itself', async () => {
    const plain = { ...PYTHON, id: `sha256:${'c'.repeat(64)}`, references: ['plain:1'] }
    await cluster.join({ images: [PYTHON, pulledR4(), plain] })
    const put = (alias: string, reference: string) => cluster.api.putImageAlias({ body: { alias, reference } })
    const python = PYTHON.references[0] ?? ''
    await put('py', python)
    expect(await put('py', python)).toEqual({ alias: 'py', reference: python })
    expect(await refusal(put('py', name))).toMatchObject({ code: 'image_alias_exists' })
    expect(await refusal(put('other', 'no/such:1'))).toMatchObject({ code: 'image_not_found' })
    expect(await refusal(put('plain:1', name))).toMatchObject({ code: 'image_alias_exists' })
    expect(await refusal(put('two words', name))).toMatchObject({ code: 'bad_request' })
    const both = await Promise.allSettled([put('race', python), put('race', name)])
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect((await cluster.api.listImageAliases()).items.map(({ alias }) => alias)).toEqual(['py', 'race'])
    for (const alias of ['py', 'race']) await cluster.api.deleteImageAlias({ params: { alias } })
    expect(await refusal(cluster.api.deleteImageAlias({ params: { alias: 'py' } }))).toMatchObject({
      ...{ code: 'image_alias_not_found' },
    })
    expect(await refusal(cluster.launch({ image: 'py' }))).toMatchObject({ code: 'image_not_found' })
  })
})

describe('a domain that may use only some registries', () => {
  test('the domain neither lists nor launches images of other registries; images made on an agent stay', async () => {
    await cluster.join({ images: [PYTHON, { ...held, id: 'sha256:q', references: ['quay.example/x:1'] }] })
    await cluster.api.createDomain({ body: { name: 'few', allowedRegistries: ['quay.example'] } })
    const password = 'Their-own-pass-1'
    const email = 'few@example.org'
    await cluster.api.createUser({ body: { mustChangePassword: false, email, name: email, password, domain: 'few' } })
    const user = await cluster.signIn(email)
    const names = async () => (await user.listImages()).items.map(image => image.reference).toSorted()
    expect(await names()).toEqual(['berth/python:3.13', 'quay.example/x:1'])
    expect(await refusal(user.createSession({ body: { image: name } }))).toMatchObject({ code: 'image_not_found' })
    const params = { name: 'few' }
    await cluster.api.updateDomain({ params, body: { allowedRegistries: [cr.name] } })
    expect(await names()).toEqual([name, 'berth/python:3.13'].toSorted())
    await cluster.api.updateDomain({ params, body: { allowedRegistries: null } })
    expect(await names()).toEqual([name, 'berth/python:3.13', 'quay.example/x:1'].toSorted())
  })
})

describe('an image that is for some domains', () => {
  test('users of other domains neither see nor launch it, also by its alias; superadmins see for whom it is', async () => {
    await cluster.join()
    const userOf = async (domain: string) => {
      await cluster.api.createDomain({ body: { name: domain } })
      const email = `${domain}@example.org`
      await cluster.api.createUser({
        body: { mustChangePassword: false, email, name: email, password: 'Their-own-pass-1', domain },
      })
      return cluster.signIn(email)
    }
    const [inside, outside] = [await userOf('in'), await userOf('out')]
    await cluster.api.putImageAlias({ body: { alias: 'narrow', reference: name } })
    const change = (domains: string[] | null) => cluster.api.updateImage({ body: { reference: name, domains } })
    expect(await refusal(change(['no-such']))).toMatchObject({ code: 'domain_not_found' })
    expect((await change(['in'])).image).toMatchObject({ domains: ['in'] })
    const seenBy = async (api: ApiClient) => (await api.listImages()).items.find(one => one.reference === name)
    expect(await seenBy(inside)).toBeDefined()
    expect(Object.keys((await seenBy(inside)) ?? {})).not.toContain('domains')
    expect(await seenBy(outside)).toBeUndefined()
    expect(await seenBy(cluster.api)).toMatchObject({ domains: ['in'] })
    for (const image of [name, 'narrow']) {
      expect(await refusal(outside.createSession({ body: { image } }))).toMatchObject({ code: 'image_not_found' })
    }
    expect((await inside.createSession({ body: { image: 'narrow' } })).items[0]?.image).toBe(name)

    // Without its last domain, the image is for nobody, not for everybody.
    await change([])
    expect(await seenBy(inside)).toBeUndefined()
    expect((await change(null)).image).toMatchObject({ domains: null })
    expect(await seenBy(outside)).toBeDefined()
    await cluster.api.deleteImageAlias({ params: { alias: 'narrow' } })
  })

  test('a new domain with the name of a deleted one gets none of its images, and nobody else does', async () => {
    await cluster.join()
    const again = () => cluster.api.createDomain({ body: { name: 'again' } })
    const domains = async () => (await cluster.api.listImages()).items.find(one => one.reference === name)?.domains
    await again()
    await cluster.api.updateImage({ body: { reference: name, domains: ['again'] } })
    await cluster.api.updateDomain({ params: { name: 'again' }, body: { active: false } })
    await cluster.api.deleteDomain({ params: { name: 'again' }, query: { purge: 'true' } })
    await again()
    expect(await domains()).toEqual([])
    await cluster.api.updateImage({ body: { reference: name, domains: null } })
  })
})

describe('the minimum of an image', () => {
  test('an admin changes the minimum; below the labels there is a warning; launches use it', async () => {
    await cluster.join()
    const change = (minimum: object | null) => cluster.api.updateImage({ body: { reference: name, minimum } })
    const more = await change({ cpu: '3' })
    expect(more).toMatchObject({
      notices: [],
      image: { minimum: { cpu: '3', mem: '536870912' }, labelMinimum: { cpu: '1' } },
    })
    const body = { image: name, resources: { cpu: '2', mem: '1g' } }
    const { items, notices } = await cluster.api.createSession({ body })
    expect(items[0]?.requested).toEqual({ cpu: '3', mem: '1073741824' })
    expect(notices.map(notice => notice.code)).toEqual(['raised_to_minimum'])
    const less = await change({ cpu: '0.5' })
    expect(less.notices).toMatchObject([{ code: 'below_label_minimum', values: { slots: 'CPU' } }])
    expect((await change(null)).image.minimum).toEqual(less.image.labelMinimum)
    const unknown = cluster.api.updateImage({ body: { reference: 'no/such:1', minimum: null } })
    expect(await refusal(unknown)).toMatchObject({ code: 'image_not_found' })
  })
})

describe('a pull to agents', () => {
  const ended = async ({ id }: Pick<Task, 'id'>) => {
    await expect.poll(async () => (await cluster.api.getTask({ params: { id } })).status).not.toBe('running')
    return cluster.api.getTask({ params: { id } })
  }
  const progress = (bytesDone: number): PullProgress => ({
    layersDone: 0,
    layersTotal: 1,
    bytesDone,
    bytesTotal: 100,
    layers: [{ id: 'aaa', status: 'Downloading', bytesDone, bytesTotal: 100 }],
  })

  test('progress is reported by agent and layer, with the agents that failed', async () => {
    const held = Promise.withResolvers<undefined>()
    const slow = await cluster.join({
      script: {
        pull_image: async () => {
          await held.promise
          return { id: r4.config }
        },
      },
    })
    const full = await cluster.join({
      script: {
        pull_image: () => {
          throw new ScriptedError('disk_full', 'no space left on device')
        },
      },
    })
    const bystander = await cluster.join()
    const task = await cluster.api.pullImage({ body: { reference: name, agentIds: [slow.id, full.id] } })
    expect(task).toMatchObject({ kind: 'pull', target: name, status: 'running' })
    const pullId = await expect
      .poll(() => slow.requests('pull_image')[0]?.pullId)
      .toBeDefined()
      .then(() => String(slow.requests('pull_image')[0]?.pullId))
    expect(slow.requests('pull_image')[0]?.auth).toEqual({ serverAddress: cr.name, ...BOB })
    // Another agent cannot report for it.
    bystander.send({ type: 'image_pull', pullId, progress: progress(1) })
    slow.send({ type: 'image_pull', pullId, progress: progress(40) })
    const stateOf = async (agentId: string) =>
      (await cluster.api.getTask({ params: { id: task.id } })).pull?.find(state => state.agentId === agentId)
    await expect.poll(async () => (await stateOf(slow.id))?.progress?.layers[0]?.bytesDone).toBe(40)
    await expect.poll(async () => (await stateOf(full.id))?.status).toBe('failed')
    held.resolve(undefined)
    const { status, error, pull } = await ended(task)
    expect([status, error?.code, error?.message]).toEqual([
      'failed',
      'disk_full',
      '1 of 2 agents could not pull the image. no space left on device',
    ])
    expect(pull?.map(state => state.status).toSorted()).toEqual(['done', 'failed'])
    expect(bystander.requests('pull_image')).toEqual([])
    expect(JSON.stringify(pull)).not.toContain('s3cret')
  })

  test('a cancelled pull ends on the agents too', async () => {
    const agent = await cluster.join({ script: { pull_image: (_, signal) => hang(signal) } })
    const task = await cluster.api.pullImage({ body: { reference: name, resourceGroup: 'default' } })
    await expect.poll(() => agent.requests('pull_image').length).toBe(1)
    const cancelled = await cluster.api.cancelTask({ params: { id: task.id } })
    expect(cancelled).toMatchObject({ status: 'cancelled', pull: [{ agentName: agent.name, status: 'cancelled' }] })
    await expect.poll(() => agent.log.map(entry => entry.name)).toContain('cancel')
  })

  test('of several images under a name on hosts, none is copied before it is chosen', async () => {
    const named = (digit: string) => ({ ...PYTHON, id: `sha256:${digit.repeat(64)}`, references: ['lab/torch:2'] })
    for (const digit of ['d', 'd', 'e']) await cluster.join({ images: [named(digit)] })
    const taker = await cluster.join()
    const body = { reference: 'lab/torch:2', from: 'agents' as const, agentIds: [taker.id] }
    await expect.poll(async () => (await imageNamed('lab/torch:2'))?.holders).toBe(2)
    const digests = ['d', 'e'].map(digit => named(digit).id)
    expect(await refusal(cluster.api.pullImage({ body }))).toMatchObject({
      code: 'image_ambiguous',
      detail: { digests },
    })
    const task = await ended(await cluster.api.pullImage({ body: { ...body, digest: named('e').id } }))
    expect(task.status).toBe('done')
    expect(taker.requests('take_image').map(({ offer }) => offer.id)).toEqual([named('e').id])
    expect(await refusal(cluster.api.pullImage({ body: { ...body, digest: named('f').id } }))).toMatchObject({
      code: 'image_not_found',
    })
    const { from: _, ...registry } = body
    expect(await refusal(cluster.api.pullImage({ body: { ...registry, digest: named('e').id } }))).toMatchObject({
      code: 'bad_request',
    })
  })

  test('a pull to agents that are not connected, or to none, is refused', async () => {
    const pull = (body: object) => refusal(cluster.api.pullImage({ body: { reference: name, ...body } }))
    expect(await pull({})).toMatchObject({ code: 'bad_request' })
    const { id } = await cluster.join()
    expect(await pull({ agentIds: [id, '00000000-0000-7000-8000-000000000000'] })).toMatchObject({
      code: 'agent_not_found',
    })
    expect(await pull({ resourceGroup: 'none' })).toMatchObject({ code: 'resource_group_not_found' })
    expect(await pull({ agentIds: [id], resourceGroup: 'default' })).toMatchObject({ code: 'bad_request' })
  })
})

describe('clean-up of images', () => {
  const unused = (): UnusedImage[] => [
    { ...pulledR4(), repoDigests: pulledR4().repoDigests, sizeBytes: 100, uniqueBytes: 60 },
    { id: PYTHON.id, references: PYTHON.references, repoDigests: [], sizeBytes: 50, uniqueBytes: 50, labelled: true },
  ]

  test('a dry run lists what would be freed; images of live sessions are left out', async () => {
    const agent = await cluster.join({
      images: [PYTHON, pulledR4()],
      script: {
        list_unused_images: () => ({ images: unused() }),
        remove_images: ({ images }) => ({
          removed: images.map(({ id }) => ({ id, references: [name] })),
          kept: [],
          freedBytes: 61,
        }),
      },
    })
    const clean = async (body: object) => (await cluster.api.cleanUpImages({ body })).items[0]
    const dry = await clean({ dryRun: true })
    const listed = listedIn(dry ? [dry] : [])
    // Without a list, nothing confirms what will be deleted.
    await expect(clean({})).rejects.toMatchObject({ code: 'bad_request' })
    expect(await clean({ listed: [] })).toBeUndefined()
    // The list of the first dry run, sent with a different selection: unlisted images stay.
    const other = [{ agentId: agent.id, images: [{ digest: 'sha256:other', references: [] }] }]
    expect(await clean({ includeLocal: true, listed: other })).toMatchObject({ images: [] })
    expect(agent.requests('remove_images')).toEqual([])
    expect(dry).toMatchObject({
      agentId: agent.id,
      freedBytes: 60,
      images: [{ references: [name], uniqueBytes: 60 }],
      error: null,
    })
    expect(dry?.kept).toEqual([
      {
        digest: PYTHON.id,
        references: PYTHON.references,
        why: expect.stringContaining('could not be pulled again') as string,
      },
    ])
    expect(agent.requests('remove_images')).toEqual([])
    const session = await cluster.launch({ image: name })
    await cluster.reach(session.id, 'RUNNING')
    expect((await clean({ listed }))?.kept.map(({ why }) => why)).toContain('A live session uses this image.')
    const remove = () => cluster.api.removeImage({ body: { reference: name } })
    expect((await remove()).items[0]).toMatchObject({ images: [], kept: [{ why: 'A live session uses this image.' }] })
    expect(agent.requests('remove_images')).toEqual([])
    await cluster.api.deleteSession({ params: { id: session.id } })
    await cluster.reach(session.id, 'TERMINATED')
    expect(await clean({ includeLocal: true, listed })).toMatchObject({
      freedBytes: 61,
      images: [{ references: [name] }],
    })
    expect(agent.requests('remove_images')).toEqual([{ images: [{ id: r4.config, listed: [name] }] }])
    expect((await remove()).items[0]).toMatchObject({ freedBytes: 61, kept: [] })
    expect(agent.requests('remove_images')[1]).toEqual({ images: [{ id: r4.config, reference: name }] })
  })

  test('clean-up continues when an agent does not answer', async () => {
    const script = { list_unused_images: () => ({ images: unused() }) }
    const [one, two] = [await cluster.join({ script }), await cluster.join({ script })]
    await two.disconnect()
    const { items } = await cluster.api.cleanUpImages({ body: { dryRun: true } })
    const errors = new Map(items.map(item => [item.agentId, item.error?.code]))
    expect([errors.get(one.id), errors.get(two.id)]).toEqual([undefined, 'agent_unreachable'])
  })
})
