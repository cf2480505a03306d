import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import WebSocket from 'ws'
import { extract, pack } from 'tar-stream'
import {
  type ApiClient,
  listedIn,
  sessionImagePrefix,
  type Session,
  type SessionId,
  type Task,
} from '#manager/contract'
import { type AgentHome, type AgentProcess, createAgentHome, spawnAgent } from '../fixtures/agent-process.ts'
import { BUSYBOX_IMAGE, busyboxImage, docker, madeContainer, removeByManager } from '../fixtures/docker.ts'
import { startTestManager, type TestManager } from '../fixtures/manager.ts'
import { startRegistry, type TestRegistry } from '../fixtures/registry.ts'

/** Real registry, real engine, real agent, real manager. */
const BOB = { username: 'bob', password: 'pull-secret-4711' }
const LABELS = {
  'ai.backend.kernelspec': '1',
  'ai.backend.role': 'COMPUTE',
  'ai.backend.service-ports': 'my_web:http:8080,broken:http:8081',
  'ai.backend.runtime-path': '/bin/httpd',
  'ai.backend.resource.min.cpu': '0.1',
  'ai.backend.resource.min.mem': '64m',
}
const DEFINITION = {
  prestart: [
    { action: 'mkdir', args: { path: '/home/work/www' } },
    { action: 'write_file', args: { filename: '/home/work/www/index.html', body: ['served on {ports[0]}'] } },
  ],
  command: ['{runtime_path}', '-f', '-p', '{ports[0]}', '-h', '/home/work/www'],
  env: {},
}

let manager: TestManager
let api: ApiClient
let token: string
let home: AgentHome
let agent: AgentProcess
let cr: TestRegistry
let reference: string

beforeAll(async () => {
  manager = await startTestManager()
  ;({ api, token } = await manager.signIn())
  cr = await startRegistry({ htpasswd: BOB })
  reference = `${cr.name}/lab/box:1`
  await busyboxImage()
  await pushImage()
  home = await createAgentHome()
  const { join: invitation } = await manager.manager.createJoinToken()
  agent = await spawnAgent(home, { BERTH_JOIN: invitation })
  expect(await agent.firstLine).toMatchObject({ ready: 'agent' })
})

afterAll(async () => {
  const managerId = manager.manager.managerId
  await agent[Symbol.asyncDispose]()
  await manager[Symbol.asyncDispose]()
  await removeByManager(managerId)
  await home[Symbol.asyncDispose]()
  await cr[Symbol.asyncDispose]()
  const image = docker.getImage(reference)
  await image.remove({ force: true }).catch(() => undefined)
})

/** Created on the engine, pushed, and removed from the engine again. */
async function pushImage(): Promise<void> {
  await using container = await madeContainer({ Image: BUSYBOX_IMAGE, Cmd: ['true'] })
  const archive = pack()
  const folder = 'etc/backend.ai/service-defs'
  archive.entry({ name: `${folder}/my_web.json` }, JSON.stringify(DEFINITION))
  archive.entry({ name: `${folder}/broken.json` }, JSON.stringify({ command: ['{no_such}'] }))
  archive.entry({ name: `${folder}/notes.txt` }, 'no definition')
  archive.finalize()
  const chunks: Buffer[] = []
  for await (const chunk of archive) chunks.push(chunk as Buffer)
  await container.putArchive(Buffer.concat(chunks), { path: '/' })
  const changes = Object.entries(LABELS).map(([name, value]) => `LABEL ${name}=${value}`)
  const repo = `${cr.name}/lab/box`
  await container.commit({ repo, tag: '1', changes: ['CMD ["sh"]', ...changes].join('\n') })
  const authconfig = { ...BOB, serveraddress: cr.name }
  const stream = await docker.getImage(repo).push({ tag: '1', authconfig })
  await new Promise<void>((resolve, reject) => {
    docker.modem.followProgress(stream, error => (error ? reject(error) : resolve()))
  })
  await docker.getImage(reference).remove()
}

async function ended({ id }: Pick<Task, 'id'>): Promise<Task> {
  const get = () => api.getTask({ params: { id } })
  await expect.poll(async () => (await get()).status).not.toBe('running')
  return get()
}

/** Prefix of the names of images that a person saves from sessions. */
const ownNames = async (client: ApiClient) => sessionImagePrefix((await client.me()).user)

async function running(session: Session | undefined): Promise<Session> {
  const params = { id: session?.id ?? ('' as SessionId) }
  await expect.poll(async () => (await api.getSession({ params })).status).toBe('RUNNING')
  return api.getSession({ params })
}

const imageOnAgents = async () =>
  (await api.listImages()).items.find(image => image.reference === reference && image.holders > 0)

/** Over a tunnel to the app, like any client of its protocol. */
function ask(id: SessionId, app: string): Promise<string> {
  const url = `${manager.url.replace('http', 'ws')}/stream/session/${id}/tcpproxy?app=${app}`
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } })
  const chunks: Buffer[] = []
  socket.on('open', () => socket.send(Buffer.from('GET / HTTP/1.0\r\n\r\n')))
  socket.on('message', (data: Buffer) => chunks.push(data))
  return new Promise((resolve, reject) => {
    socket.on('close', (_code, reason) => resolve(Buffer.concat(chunks).toString('utf8') + reason.toString('utf8')))
    socket.on('error', reject)
  })
}

test('an image of a registry with sign-in is launched, its services start as it defines, and it is cleaned up', async () => {
  await api.createRegistry({ body: { name: cr.name, url: cr.url, ...BOB } })
  expect((await ended(await api.rescanRegistry({ params: { name: cr.name } }))).rescan).toMatchObject({ images: 1 })
  const { items } = await api.createSession({ body: { image: reference } })
  const session = await running(items[0])
  const { items: events } = await api.listSessionEvents({ params: { id: session.id } })
  expect(events.map(event => event.reason.code)).toContain('image_missing')
  const { Id, RepoDigests } = await docker.getImage(reference).inspect()
  expect(Id).toBe(session.imageDigest)
  expect(RepoDigests).toHaveLength(1)

  // Started by prestart and command of /etc/backend.ai/service-defs/my_web.json.
  expect(await ask(session.id, 'my-web')).toMatch(/^HTTP\/1\.[01] 200 OK[^]*served on 8080\n/)
  expect(await ask(session.id, 'broken')).not.toContain('200 OK')

  // The password of the registry stays in memory.
  const { Config } = await docker.getContainer(session.kernels[0]?.containerId ?? '').inspect()
  expect(JSON.stringify(Config)).not.toContain(BOB.password)
  const log = await readFile(join(home.data, 'agent.log'), 'utf8')
  expect(log).toContain('kernel runs')
  expect(log).not.toContain(BOB.password)

  await expect.poll(async () => (await imageOnAgents())?.digest).toBe(Id)
  expect(await imageOnAgents()).toMatchObject({ pullable: true, outdated: false, registry: cr.name })
  const inUse = await api.cleanUpImages({ body: { dryRun: true } })
  expect(inUse.items[0]?.images.map(image => image.digest)).not.toContain(Id)
  const refused = await api.removeImage({ body: { reference } })
  expect(refused.items[0]?.kept[0]?.why).toContain('live session')

  const params = { id: session.id }
  await api.deleteSession({ params })
  await expect.poll(async () => (await api.getSession({ params })).status).toBe('TERMINATED')
  const dry = (await api.cleanUpImages({ body: { dryRun: true } })).items[0]
  const [would] = dry?.images.filter(image => image.digest === Id) ?? []
  expect(would?.references).toEqual([reference])
  expect(would?.uniqueBytes).toBeLessThan(would?.sizeBytes ?? 0)
  // An unknown container uses it, so the agent keeps it.
  {
    await using _foreign = await madeContainer({ Image: reference, Cmd: ['true'] })
    expect((await api.removeImage({ body: { reference } })).items[0]?.kept[0]?.why).toBe('A container uses this image.')
  }
  const removed = (await api.removeImage({ body: { reference } })).items[0]
  expect(removed?.images.map(image => image.references)).toEqual([[reference]])
  await expect.poll(imageOnAgents).toBeUndefined()
  await expect(docker.getImage(Id).inspect()).rejects.toMatchObject({ statusCode: 404 })
})

/** Removes the images that a dry run lists. */
async function cleanUp() {
  const { items } = await api.cleanUpImages({ body: { dryRun: true } })
  return api.cleanUpImages({ body: { listed: listedIn(items) } })
}

test('an admin pulls an image to agents in advance, and clean-up removes it', async () => {
  const task = await ended(await api.pullImage({ body: { reference } }))
  expect(task).toMatchObject({ status: 'done', pull: [{ status: 'done', error: null }] })
  expect(task.pull?.[0]?.progress?.layersTotal).toBeGreaterThan(0)
  await expect.poll(imageOnAgents).toBeDefined()
  const clean = (await cleanUp()).items[0]
  expect(clean?.images.flatMap(image => image.references)).toContain(reference)
  // The toolbox and images of tests stay.
  expect(clean?.images.flatMap(image => image.references).filter(name => !name.startsWith(cr.name))).toEqual([])
  await expect.poll(imageOnAgents).toBeUndefined()
  const failed = await ended(await api.pullImage({ body: { reference: `${cr.name}/lab/none:1` } }))
  expect(failed).toMatchObject({ status: 'failed', pull: [{ status: 'failed', error: { code: 'image_not_found' } }] })
})

test('a session gets the image that it was created for, although its name means another one meanwhile', async () => {
  const known = (await api.listImages()).items.find(image => image.reference === reference)
  await cr.push('lab/box', ['1'], { labels: { 'berth.image.title': 'newer' } })
  const session = await running((await api.createSession({ body: { image: reference } })).items[0])
  const { Image } = await docker.getContainer(session.kernels[0]?.containerId ?? '').inspect()
  expect(Image).toBe(known?.digest)
  await expect.poll(imageOnAgents).toMatchObject({ digest: known?.digest, outdated: false })
  await ended(await api.rescanRegistry({ params: { name: cr.name } }))
  expect(await imageOnAgents()).toMatchObject({ digest: known?.digest, outdated: true })
  const params = { id: session.id }
  await api.deleteSession({ params })
  await expect.poll(async () => (await api.getSession({ params })).status).toBe('TERMINATED')
  // After an explicit pull the name means the newer image.
  expect((await ended(await api.pullImage({ body: { reference } }))).status).toBe('done')
  await expect.poll(imageOnAgents).toMatchObject({ title: 'newer', outdated: false })
  // The older image has lost its name and is removed, and so is the newer one, because the registry has it.
  const clean = (await cleanUp()).items[0]
  expect(clean?.images.map(image => image.digest)).toContain(known?.digest)
})

test('an image of a session has what programs wrote and the settings of its image, and nothing that Berth gave the session', async () => {
  const secret = `token-${crypto.randomUUID()}`
  const base = `made/base:${crypto.randomUUID().slice(0, 8)}`
  const own = await ownNames(api)
  const made = base.replace('made/base', `${own}box`)
  await makeBase(base)
  await expect.poll(async () => (await api.listImages()).items.map(one => one.reference)).toContain(base)
  const busybox = '/opt/berth/bin/busybox'
  const startupCommand = [
    'echo installed > /srv/tool',
    'echo in-home > /home/work/note',
    `${busybox} ln -s /srv/tool /srv/link`,
    `${busybox} mkdir -m 700 /srv/closed`,
  ].join(' && ')
  const { items } = await api.createSession({ body: { image: base, environ: { API_TOKEN: secret }, startupCommand } })
  const session = await running(items[0])
  const params = { id: session.id }
  const { privateKey } = await api.getSshAccess({ params })
  const containerId = session.kernels[0]?.containerId ?? ''
  const has = async (path: string) => (await docker.getContainer(containerId).infoArchive({ path })) !== undefined
  await expect.poll(() => has('/srv/closed').catch(() => false)).toBe(true)

  await api.saveSession({ params, body: { reference: made, title: 'Box with a "tool"' } })
  const ended = async () => (await api.getSessionImage({ params })).task
  await expect.poll(async () => (await ended())?.status).not.toBe('running')
  expect(await ended()).toMatchObject({ kind: 'save', status: 'done', target: made, error: null })
  try {
    const image = await docker.getImage(made).inspect()
    const from = await docker.getImage(base).inspect()
    // The settings are those of the image, and its labels with the new title; those of the container are not there.
    for (const key of ['Cmd', 'Entrypoint', 'WorkingDir', 'User', 'Env'] as const) {
      expect([image.Config[key] ?? []].flat().filter(Boolean), key).toEqual(
        [from.Config[key] ?? []].flat().filter(Boolean),
      )
    }
    const labels = { 'berth.image.title': 'Box with a "tool"', 'berth.session.owner': own.replace(/^users\/|\/$/g, '') }
    expect(image.Config.Labels).toEqual({ ...from.Config.Labels, ...labels })
    const told = JSON.stringify([image, await docker.getImage(made).history()])
    for (const text of [secret, session.id, session.ownerId, 'BERTH_', 'berth.sig', 'berth.kernel', '/home/work']) {
      expect(told, text).not.toContain(text)
    }
    const files = await filesOf(made)
    expect(files.get('srv/tool')).toBe('installed\n')
    expect([...files.keys()]).toEqual(expect.arrayContaining(['srv/link', 'srv/closed/']))
    // Mount points exist, and are empty.
    const below = (folder: string) => [...files.keys()].filter(name => name.startsWith(folder) && name !== folder)
    for (const folder of ['home/work/', 'run/berth/', 'opt/berth/', 'dev/pts/']) expect(below(folder)).toEqual([])
    const all = [...files.values()].join('\n')
    for (const text of [secret, privateKey.split('\n')[1] ?? privateKey, session.id, 'in-home'])
      expect(all).not.toContain(text)

    await expect.poll(async () => (await api.listImages()).items.map(one => one.reference)).toContain(made)
    const again = await api.saveSession({ params, body: { reference: made } }).catch((error: unknown) => error)
    expect(again).toMatchObject({ code: 'image_exists' })
    const copy = await running((await api.createSession({ body: { image: made } })).items[0])
    expect(copy.apps.map(({ name }) => name)).toContain('web')
    await api.deleteSession({ params: { id: copy.id } })
    await expect.poll(async () => (await api.getSession({ params: { id: copy.id } })).status).toBe('TERMINATED')
  } finally {
    await api.deleteSession({ params })
    for (const name of [made, base])
      await docker
        .getImage(name)
        .remove({ force: true })
        .catch(() => undefined)
  }
})

test('a volume that an image declares below the home is a directory of the home, filled from the image', async () => {
  const base = `made/volumes:${crypto.randomUUID().slice(0, 8)}`
  await makeBase(base, ['VOLUME ["/srv/data","/home/work/kept/deep"]'])
  await expect.poll(async () => (await api.listImages()).items.map(one => one.reference)).toContain(base)
  expect((await api.listImages()).items.find(one => one.reference === base)?.volumes).toEqual(['/srv/data'])
  const startupCommand = 'cat kept/deep/seed && echo more > kept/deep/more && echo x > /srv/data/big && echo written'
  const { items } = await api.createSession({ body: { image: base, startupCommand } })
  const session = await running(items[0])
  const params = { id: session.id }
  try {
    await expect.poll(async () => (await api.getSessionLogs({ params, query: {} })).text).toMatch(/^seed\s+written/)
    const { Mounts } = await docker.getContainer(session.kernels[0]?.containerId ?? '').inspect()
    const home = Mounts.find(({ Destination }) => Destination === '/home/work')?.Source ?? ''
    expect(await readFile(join(home, 'kept/deep/more'), 'utf8')).toBe('more\n')
    const { uid } = await stat(home)
    expect([await stat(join(home, 'kept/deep')), await stat(join(home, 'kept/deep/seed'))]).toMatchObject([
      { uid },
      { uid },
    ])
    const volumes = Mounts.filter(({ Type, Destination }) => Type === 'volume' && /data|deep/.test(Destination))
    expect(volumes).toHaveLength(2)
    await api.deleteSession({ params })
    const left = async () => (await docker.listVolumes()).Volumes.map(({ Name }) => Name)
    await expect.poll(left).not.toContain(volumes[0]?.Name)
    expect(await readFile(join(home, 'kept/deep/more'), 'utf8')).toBe('more\n')
  } finally {
    await api.deleteSession({ params }).catch(() => undefined)
    await docker
      .getImage(base)
      .remove({ force: true })
      .catch(() => undefined)
  }
})

test('a superadmin accepts an image of a session with a push: it is in the registry, and a refused push leaves no name behind', async () => {
  const id = crypto.randomUUID().slice(0, 8)
  const base = `made/base:${id}`
  const names = [base]
  await makeBase(base)
  await expect.poll(async () => (await api.listImages()).items.map(one => one.reference)).toContain(base)
  await api.createRegistry({ body: { name: cr.name, url: cr.url, ...BOB } }).catch(() => undefined)
  const user = await manager.addUser(`pushes-${id}@example.org`)
  const session = await running((await user.api.createSession({ body: { image: base } })).items[0])
  const params = { id: session.id }
  const asked = async (made: string) => {
    names.push(made, `${cr.name}/lab/${made}`)
    return (await user.api.saveSession({ params, body: { reference: made } })).request?.id ?? ''
  }
  const accept = (requestId: string, registry = cr.name) =>
    api.acceptImageRequest({ params: { id: requestId }, body: { push: { registry, project: 'lab' } } })
  try {
    const own = await ownNames(user.api)
    const made = `${own}pushed:${id}`
    const request = await asked(made)
    expect(await accept(request, 'cr.example.org').catch((error: unknown) => error)).toMatchObject({
      code: 'registry_not_found',
    })
    const task = await ended(await accept(request))
    expect(task).toMatchObject({ status: 'done', target: made, error: null })
    const progress = task.pull?.[0]?.progress
    expect(progress?.layersTotal).toBeGreaterThan(0)
    expect(progress?.layersDone).toBe(progress?.layersTotal)
    const authorization = `Basic ${Buffer.from(`${BOB.username}:${BOB.password}`).toString('base64')}`
    const accepted = 'application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.manifest.v1+json'
    const manifest = await fetch(`${cr.url}/v2/lab/${own}pushed/manifests/${id}`, {
      headers: { authorization, accept: accepted },
    })
    expect(manifest.status).toBe(200)
    const pushed = `${cr.name}/lab/${made}`
    const offered = async () => (await api.listImages()).items.find(one => one.reference === pushed)
    await expect.poll(offered).toMatchObject({ pullable: true })

    await api.updateRegistry({ params: { name: cr.name }, body: { password: 'not-the-password' } })
    const refused = `${own}refused:${id}`
    const failed = await ended(await accept(await asked(refused)))
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'image_push_failed' } })
    expect(JSON.stringify(failed)).not.toContain('not-the-password')
    await expect(docker.getImage(`${cr.name}/lab/${refused}`).inspect()).rejects.toMatchObject({ statusCode: 404 })
    await expect(docker.getImage(refused).inspect()).resolves.toBeDefined()
  } finally {
    await api.updateRegistry({ params: { name: cr.name }, body: { password: BOB.password } }).catch(() => undefined)
    await api.deleteSession({ params })
    for (const name of names)
      await docker
        .getImage(name)
        .remove({ force: true })
        .catch(() => undefined)
  }
})

test('a push is cancelled while the registry does not answer: the image stays where it was made, without the name of the registry', async () => {
  const id = crypto.randomUUID().slice(0, 8)
  const base = `made/base:${id}`
  await makeBase(base)
  await expect.poll(async () => (await api.listImages()).items.map(one => one.reference)).toContain(base)
  await api.createRegistry({ body: { name: cr.name, url: cr.url, ...BOB } }).catch(() => undefined)
  const user = await manager.addUser(`cancels-${id}@example.org`)
  const made = `${await ownNames(user.api)}slow:${id}`
  const pushed = `${cr.name}/lab/${made}`
  const session = await running((await user.api.createSession({ body: { image: base } })).items[0])
  const params = { id: session.id }
  const begin = async (reference: string) => {
    const { request } = await user.api.saveSession({ params, body: { reference } })
    const body = { push: { registry: cr.name, project: 'lab' } }
    return api.acceptImageRequest({ params: { id: request?.id ?? '' }, body })
  }
  const stuck = async (reference: string) => {
    cr.pause()
    const task = await begin(reference)
    const state = async () => (await api.getTask({ params: { id: task.id } })).pull?.[0]?.status
    await expect.poll(state).toBe('pushing')
    return task
  }
  const isThere = (name: string) =>
    docker
      .getImage(name)
      .inspect()
      .then(
        () => true,
        () => false,
      )
  try {
    const task = await stuck(made)
    await api.cancelTask({ params: { id: task.id } })
    expect(await ended(task)).toMatchObject({ status: 'cancelled' })
    await expect.poll(() => isThere(pushed)).toBe(false)
    expect(await isThere(made)).toBe(true)
    cr.resume()

    // The owner can also cancel. The next push of the session gets the registry's answer again.
    const other = await stuck(made.replace('slow', 'other'))
    await user.api.cancelSessionImage({ params })
    expect(await ended(other)).toMatchObject({ status: 'cancelled' })
    cr.resume()
    expect(await ended(await begin(made.replace('slow', 'third')))).toMatchObject({ status: 'done', error: null })
  } finally {
    cr.resume()
    await api.deleteSession({ params })
    for (const name of [base, ...['slow', 'other', 'third'].map(word => made.replace('slow', word))]) {
      for (const one of [name, `${cr.name}/lab/${name}`]) {
        await docker
          .getImage(one)
          .remove({ force: true })
          .catch(() => undefined)
      }
    }
  }
})

test('an image is built on an agent from a recipe, with its log; a failed step says why, and a build is cancelled', async () => {
  const reference = `made/built:${crypto.randomUUID().slice(0, 8)}`
  const { items } = await api.listAgents()
  const agentId = items[0]?.id
  if (!agentId) throw new Error('no agent')
  const build = (...steps: string[]) =>
    api.buildImage({ body: { reference, agentId, recipe: [`FROM ${BUSYBOX_IMAGE}`, ...steps].join('\n') } })
  try {
    const failed = await ended(await build('RUN echo before && exit 3'))
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'image_build_failed' } })
    expect(failed.error?.message).toContain('returned a non-zero code: 3')
    expect(failed.log).toContain('before\n')

    const slow = await build('RUN echo waiting && sleep 600')
    const logOf = async ({ id }: Task) => (await api.getTask({ params: { id } })).log
    await expect.poll(() => logOf(slow)).toContain('waiting\n')
    await api.cancelTask({ params: { id: slow.id } })
    expect(await ended(slow)).toMatchObject({ status: 'cancelled' })
    // The engine removes the container of the step.
    const left = async () =>
      (await docker.listContainers()).filter(({ Command }) => Command.includes('sleep 600')).length
    await expect.poll(left).toBe(0)

    const task = await ended(await build('LABEL berth.image.title="Built here"', 'RUN echo from-the-recipe > /made'))
    expect(task).toMatchObject({ kind: 'build', status: 'done', target: reference, error: null })
    expect(task.log).toMatch(/Step 1\/3 : FROM[^]*Successfully tagged/)
    await expect
      .poll(async () => (await api.listImages()).items.find(one => one.reference === reference))
      .toMatchObject({ title: 'Built here', agentIds: [agentId], registry: null })
    expect((await filesOf(reference)).get('made')).toBe('from-the-recipe\n')
    await expect(build('RUN true')).rejects.toMatchObject({ code: 'image_exists' })
    const copied = await ended(
      await api.buildImage({
        body: { reference: `${reference}x`, agentId, recipe: 'FROM scratch\nCOPY etc/passwd /' },
      }),
    )
    expect(copied).toMatchObject({ status: 'failed' })
    const user = await manager.addUser(`builds-${crypto.randomUUID()}@example.org`)
    const body = { reference: 'made/theirs:1', agentId, recipe: `FROM ${BUSYBOX_IMAGE}` }
    await expect(user.api.buildImage({ body })).rejects.toMatchObject({ code: 'forbidden' })
  } finally {
    await docker
      .getImage(reference)
      .remove({ force: true })
      .catch(() => undefined)
  }
})

const QUOTED_APPS = '[{"name":"web","protocol":"http","port":8080,"title":"Costs $5 \\\\ day"}]'

/**
 * An image with a directory in which every user can write, and settings that need care. @param changes further lines of its recipe; then it
 * also has a file below the home
 */
async function makeBase(name: string, changes: readonly string[] = []): Promise<void> {
  await using container = await madeContainer({
    Image: BUSYBOX_IMAGE,
    Cmd: ['sh', '-c', 'echo "$HOME"'],
    Env: ['QUOTED=a "b" $HOME \\'],
    Labels: { 'berth.image.apps': QUOTED_APPS },
  })
  const archive = pack()
  archive.entry({ name: 'srv', type: 'directory', mode: 0o777 })
  archive.entry({ name: 'srv/data', type: 'directory', mode: 0o777 })
  if (changes.length > 0) archive.entry({ name: 'home/work/kept/deep/seed' }, 'seed\n')
  archive.finalize()
  const chunks: Buffer[] = []
  for await (const chunk of archive) chunks.push(chunk as Buffer)
  await container.putArchive(Buffer.concat(chunks), { path: '/' })
  const [repo, tag] = name.split(':')
  // Docker refuses an empty text.
  await container.commit({ repo, tag, ...(changes.length > 0 ? { changes: changes.join('\n') } : {}) })
}

/** Names and contents of all files of an image; directories end with a slash. */
async function filesOf(image: string): Promise<Map<string, string>> {
  await using container = await madeContainer({ Image: image, Cmd: ['true'] })
  const files = new Map<string, string>()
  const reader = extract()
  ;(await container.export()).pipe(reader)
  for await (const entry of reader) {
    const chunks: Buffer[] = []
    for await (const chunk of entry) chunks.push(chunk as Buffer)
    files.set(entry.header.name, Buffer.concat(chunks).toString('latin1'))
  }
  return files
}
