import { createServer } from 'node:http'
import { join } from 'node:path'
import { type AddressInfo } from 'node:net'
import { sign } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type EventHint, type RegistryChange, type Task } from '#manager/contract'
import { silentLog } from '../../../manager/log.ts'
import { readMasterKeys } from '../../../manager/secrets/master-key-file.ts'
import { addMasterKey, masterKeyPath } from '../../../manager/secrets/master-key-file.ts'
import { openSecretBox } from '../../../manager/secrets/open-secret-box.ts'
import { createSecretBox } from '../../../manager/secrets/secret-box.ts'
import { openStore } from '../../../manager/store/open-store.ts'
import { findRegistry } from '../../../manager/store/images/registries.ts'
import { openEventStream } from '../../fixtures/event-stream.ts'
import { ARCHITECTURE, startRegistry, type TestRegistry, tokenSigner } from '../../fixtures/registry.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'
import { ADMIN, apiOf, startTestManager, temporaryDirectory } from '../../fixtures/manager.ts'

const LABELS = { 'berth.image.title': 'R 4', 'berth.image.min.cpu': '0.5', 'berth.image.min.mem': '256m' }
const BOB = { username: 'bob', password: 's3cret/with:signs' }

let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster()
})
afterAll(() => cluster[Symbol.asyncDispose]())
afterEach(async () => {
  for (const { name } of (await cluster.api.listRegistries()).items) {
    await cluster.api.deleteRegistry({ params: { name } })
  }
})

async function registry(options?: Parameters<typeof startRegistry>[0]): Promise<TestRegistry> {
  const started = await startRegistry(options)
  onTestFinished(() => started[Symbol.asyncDispose]())
  return started
}
const add = ({ name, url }: TestRegistry, more: object = {}) =>
  cluster.api.createRegistry({ body: { name, url, ...more } })
const start = ({ name }: { name: string }) => cluster.api.rescanRegistry({ params: { name } })
const get = ({ id }: { id: string }) => cluster.api.getTask({ params: { id } })
async function ended(task: Pick<Task, 'id'>): Promise<Task> {
  await expect.poll(async () => (await get(task)).status, { interval: 25 }).not.toBe('running')
  return get(task)
}
const rescan = async (where: { name: string }) => ended(await start(where))
const offered = async () => (await cluster.api.listImages()).items.map(image => image.reference)
const tagNames = (count: number) => Array.from({ length: count }, (_, index) => `t${index}`)

describe('a rescan', () => {
  test('a rescan finds labelled images and reads their labels; it ignores images without labels', async () => {
    const cr = await registry()
    const { config } = await cr.push('lab/r', ['4.0', 'latest'], { labels: LABELS })
    await cr.push('lab/plain', ['1'])
    await add(cr)
    const task = await rescan(cr)
    expect(task).toMatchObject({
      kind: 'rescan',
      target: cr.name,
      status: 'done',
      error: null,
      startedBy: 'admin@localhost',
    })
    expect(task.rescan).toMatchObject({
      repositoriesDone: 2,
      tagsDone: 3,
      tagsTotal: 3,
      images: 2,
      unlabelled: 1,
      problems: [],
    })
    const { items } = await cluster.api.listImages()
    expect(items.map(image => image.reference)).toEqual([`${cr.name}/lab/r:4.0`, `${cr.name}/lab/r:latest`])
    expect(items[0]).toMatchObject({
      digest: config,
      title: 'R 4',
      minimum: { cpu: '0.5', mem: '268435456' },
      agentIds: [],
      registry: cr.name,
      pullable: true,
      outdated: false,
      labelled: true,
    })
    const [row] = (await cluster.api.listRegistries()).items
    expect(row).toMatchObject({ name: cr.name, images: 2 })
    expect(row?.scannedAt).not.toBeNull()
  })

  test('a test of a registry reads what a rescan would begin with, stores nothing, and says what is wrong', async () => {
    const cr = await registry({ htpasswd: { username: 'bob', password: 'right' } })
    await cr.push('lab/r', ['1', '2'], { labels: LABELS })
    await cr.push('other/x', ['1'], { labels: LABELS })
    await add(cr, { username: 'bob', password: 'right', projects: ['other'], active: false })
    const test = () => cluster.api.testRegistry({ params: { name: cr.name } })
    expect(await test()).toEqual({ signedIn: true, repositories: 1, repository: 'other/x', tags: 1 })
    const change = (body: Partial<RegistryChange>) => cluster.api.updateRegistry({ params: { name: cr.name }, body })
    await change({ projects: ['none'] })
    expect(await test()).toMatchObject({ repositories: 0, repository: null, tags: 0 })
    await change({ password: 'wrong' })
    await expect(test()).rejects.toMatchObject({ code: 'registry_refused' })
    await cr.kill()
    await expect(test()).rejects.toMatchObject({ code: 'registry_unreachable' })
    const [row] = (await cluster.api.listRegistries()).items
    expect(row).toMatchObject({ images: 0, scannedAt: null })
  })

  test('a rescan reads every page, and only the projects that were named', async () => {
    const cr = await registry()
    await Promise.all(tagNames(110).map(name => cr.push(`many/${name}`, ['1'], { labels: LABELS })))
    await cr.push('other/x', ['1'], { labels: LABELS })
    await add(cr, { projects: ['many'] })
    const task = await rescan(cr)
    expect(task.rescan).toMatchObject({ repositoriesTotal: 110, images: 110 })
    expect(await offered()).not.toContain(`${cr.name}/other/x:1`)
    await cluster.api.updateRegistry({ params: { name: cr.name }, body: { projects: ['other/x'] } })
    expect((await rescan(cr)).rescan).toMatchObject({ images: 1, removed: 110 })
    expect(await offered()).toEqual([`${cr.name}/other/x:1`])
  })

  test('a rescan reads an index and picks the image for this machine', async () => {
    const cr = await registry()
    const mine = await cr.push('lab/r', ['mine'], { labels: LABELS })
    const theirs = await cr.push('lab/r', ['theirs'], { labels: LABELS, architecture: 's390x' })
    const entry = (digest: string, architecture: string) => {
      return {
        mediaType: 'application/vnd.docker.distribution.manifest.v2+json',
        digest,
        size: 1,
        platform: { os: 'linux', architecture },
      }
    }
    const type = 'application/vnd.docker.distribution.manifest.list.v2+json'
    const list = {
      schemaVersion: 2,
      mediaType: type,
      manifests: [entry(theirs.manifest, 's390x'), entry(mine.manifest, ARCHITECTURE)],
    }
    await cr.pushManifest('lab/r', 'both', type, list)
    await add(cr)
    const task = await rescan(cr)
    expect(task.rescan?.problems).toEqual([
      { reference: `${cr.name}/lab/r:theirs`, why: expect.stringContaining('linux/s390x') as string },
    ])
    const both = (await cluster.api.listImages()).items.find(image => image.reference.endsWith(':both'))
    expect(both?.digest).toBe(mine.config)
  })

  test('a rescan reports broken and vanished images, and continues', async () => {
    const cr = await registry()
    await cr.push('lab/good', ['1'], { labels: LABELS })
    const broken = await cr.push('lab/broken', ['1'], { labels: { ...LABELS, n: '1' } })
    const config = await cr.push('lab/config', ['1'], { labels: { ...LABELS, n: '2' } })
    const gone = await cr.push('lab/gone', ['1'], { labels: { ...LABELS, n: '3' } })
    await cr.spoil(broken.manifest)
    await cr.spoil(config.config)
    await cr.forgetManifest('lab/gone', gone.manifest)
    await add(cr)
    const task = await rescan(cr)
    expect(task.status).toBe('done')
    expect(task.rescan).toMatchObject({ tagsDone: 4, images: 1, problemsTotal: 3 })
    const problems = new Map(
      task.rescan?.problems.map(({ reference, why }) => [reference.replace(`${cr.name}/`, ''), why]),
    )
    expect([...problems.keys()].toSorted()).toEqual(['lab/broken:1', 'lab/config:1', 'lab/gone:1'])
    expect(problems.get('lab/config:1')).toContain('does not match its digest')
    expect(await offered()).toEqual([`${cr.name}/lab/good:1`])
  })

  test('a rescan forgets deleted tags, and does not read unchanged ones again', async () => {
    const cr = await registry()
    const kept = await cr.push('lab/r', ['kept', 'leaves'], { labels: LABELS })
    await add(cr)
    expect((await rescan(cr)).rescan).toMatchObject({ images: 2 })
    await cr.untag('lab/r', 'leaves')
    // If it were read, it could not be parsed any more.
    await cr.spoil(kept.config)
    expect((await rescan(cr)).rescan).toMatchObject({ images: 1, removed: 1, problems: [] })
    expect(await offered()).toEqual([`${cr.name}/lab/r:kept`])
  })

  test('a rescan of a registry that goes away keeps what it found, and reports it', async () => {
    const cr = await registry()
    await cr.push('lab/r', tagNames(200), { labels: LABELS })
    await add(cr)
    const task = await start(cr)
    await expect.poll(async () => (await offered()).length, { interval: 5 }).toBeGreaterThan(3)
    cr.pause()
    await cr.kill()
    const { status, error, rescan: progress } = await ended(task)
    expect(status).toBe('failed')
    expect(error).toMatchObject({ code: 'registry_unreachable' })
    expect(progress?.tagsTotal).toBe(200)
    expect(progress?.tagsDone).toBeLessThan(200)
    expect((await offered()).length).toBeGreaterThanOrEqual(progress?.images ?? Infinity)
    expect((await offered()).length).toBeGreaterThan(3)
    // No image is removed because its registry was unreachable.
    const before = await offered()
    expect(await rescan(cr)).toMatchObject({ status: 'failed', error: { code: 'registry_unreachable' } })
    expect(await offered()).toEqual(before)
  })

  test('a rescan publishes its progress, runs once per registry, and can be cancelled', async () => {
    const cr = await registry()
    await cr.push('lab/r', tagNames(200), { labels: LABELS })
    await add(cr)
    const { token } = await apiOf(cluster.url).login({ body: { ...ADMIN, kind: 'token' } })
    using events = await openEventStream(cluster.url, { token: String(token) })
    const hints = () => events.of('hint').filter(({ data }) => (data as EventHint).id === task.id)
    const task = await start(cr)
    await expect.poll(async () => (await offered()).length, { interval: 5 }).toBeGreaterThan(3)
    cr.pause()
    expect((await start(cr)).id).toBe(task.id)
    await expect.poll(async () => (await get(task)).rescan?.tagsDone ?? 0).toBeGreaterThan(0)
    await expect.poll(() => hints().length).toBeGreaterThan(0)
    expect(await get(task)).toMatchObject({ status: 'running', rescan: { tagsTotal: 200 } })
    const cancelled = await cluster.api.cancelTask({ params: { id: task.id } })
    expect(cancelled).toMatchObject({ status: 'cancelled', error: { message: 'The task was cancelled.' } })
    expect(cancelled.endedAt).not.toBeNull()
    expect((await cluster.api.cancelTask({ params: { id: task.id } })).version).toBe(cancelled.version)
    cr.resume()
    expect((await rescan(cr)).status).toBe('done')
    expect((await cluster.api.listTasks()).items.slice(0, 2).map(one => one.status)).toEqual(['done', 'cancelled'])
  })

  test('deleting the registry cancels its rescan', async () => {
    const cr = await registry()
    await cr.push('lab/r', ['1'], { labels: LABELS })
    await add(cr)
    cr.pause()
    const task = await start(cr)
    await cluster.api.deleteRegistry({ params: { name: cr.name } })
    expect(await get(task)).toMatchObject({ status: 'cancelled' })
  })

  test('a rescan ends with its manager', async () => {
    const cr = await registry()
    await cr.push('lab/r', tagNames(50), { labels: LABELS })
    await add(cr)
    cr.pause()
    const task = await start(cr)
    await cluster.restart()
    expect(await get(task)).toMatchObject({
      status: 'cancelled',
      error: { message: expect.stringContaining('stopped') as string },
    })
    cr.resume()
    expect((await rescan(cr)).status).toBe('done')
  })
})

describe('a registry with a sign-in', () => {
  test('the registry is read with the password, which no reply contains', async () => {
    const cr = await registry({ htpasswd: BOB })
    await cr.push('lab/r', ['1'], { labels: LABELS })
    const made = await add(cr, BOB)
    expect(made).toMatchObject({ username: 'bob', hasPassword: true })
    expect(JSON.stringify([made, (await cluster.api.listRegistries()).items])).not.toContain('s3cret')
    expect((await rescan(cr)).rescan).toMatchObject({ images: 1 })
  })

  test('a rescan without a password, or with a wrong one, is refused', async () => {
    const cr = await registry({ htpasswd: BOB })
    await cr.push('lab/r', ['1'], { labels: LABELS })
    await add(cr)
    const { error } = await rescan(cr)
    expect(error).toMatchObject({ code: 'registry_refused', message: 'The registry needs a user name and a password.' })
    const params = { name: cr.name }
    await cluster.api.updateRegistry({ params, body: { username: 'bob', password: 'wrong' } })
    const second = await rescan(cr)
    expect(second.error?.code).toBe('registry_refused')
    expect(JSON.stringify(second)).not.toContain('wrong')
    await cluster.api.updateRegistry({ params, body: { password: BOB.password } })
    expect((await rescan(cr)).status).toBe('done')
    const without = await cluster.api.updateRegistry({ params, body: { username: null } })
    expect(without).toMatchObject({ username: null, hasPassword: false })
  })

  test('the password that was given for https is not sent by http, unless it is entered again', async () => {
    const name = '10.0.0.7:5000'
    await cluster.api.createRegistry({ body: { name, ...BOB } })
    const update = (body: Parameters<typeof cluster.api.updateRegistry>[0]['body']) =>
      cluster.api.updateRegistry({ params: { name }, body })
    const http = { url: `http://${name}`, allowHttp: true }
    expect(await update({ url: `https://${name}` })).toMatchObject({ username: 'bob', hasPassword: true })
    expect(await update(http)).toMatchObject({ url: http.url, username: null, hasPassword: false })
    expect(await update({ url: `https://${name}`, ...BOB })).toMatchObject({ username: 'bob', hasPassword: true })
    expect(await update({ ...http, password: BOB.password, username: BOB.username })).toMatchObject({
      hasPassword: true,
    })
    expect(await update({ url: `https://${name}` })).toMatchObject({ hasPassword: true })
    await cluster.api.deleteRegistry({ params: { name } })
  })

  test('a registry with tokens is read with one token per repository', async () => {
    await using directory = await temporaryDirectory()
    const { key, cert, certFile } = await tokenSigner(directory.path)
    const asked: { scope: string | null; authorization: string | undefined }[] = []
    const now = () => Math.floor(Date.now() / 1000)
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const server = createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://x')
      const scope = searchParams.get('scope')
      asked.push({ scope, authorization: request.headers.authorization })
      const expected = `Basic ${Buffer.from(`${BOB.username}:${BOB.password}`).toString('base64')}`
      if (request.headers.authorization !== expected) return void response.writeHead(401).end()
      const [type = '', name = '', actions = ''] = (scope ?? '').split(':')
      const access = scope === null ? [] : [{ type, name, actions: actions.split(',') }]
      const times = { exp: now() + 300, nbf: now() - 10, iat: now() }
      const claims = { iss: 'tokens', sub: 'bob', aud: 'registry', jti: String(asked.length), access, ...times }
      const text = `${encode({ typ: 'JWT', alg: 'ES256', x5c: [cert] })}.${encode(claims)}`
      const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')
      response.end(JSON.stringify({ token: `${text}.${signature}`, expires_in: 300 }))
    })
    await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
    onTestFinished(() => void server.close())
    const realm = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`
    const open = await registry()
    for (const name of ['lab/a', 'lab/b']) await open.push(name, tagNames(5), { labels: LABELS })
    await open.kill()
    const options = { token: { realm, service: 'registry', issuer: 'tokens', rootCert: certFile } }
    const cr = await registry({ ...options, directory: open.directory })
    await add(cr)
    expect((await rescan(cr)).error?.code).toBe('registry_refused')
    await cluster.api.updateRegistry({ params: { name: cr.name }, body: BOB })
    asked.length = 0
    expect(await rescan(cr)).toMatchObject({ status: 'done', rescan: { images: 10 } })
    expect(asked.map(({ scope }) => scope)).toEqual([
      null,
      'registry:catalog:*',
      'repository:lab/a:pull',
      'repository:lab/b:pull',
    ])
  })
})

describe('registries', () => {
  test('superadmins create, change and delete registries; their images are deleted with them', async () => {
    const cr = await registry()
    await cr.push('lab/r', ['1'], { labels: LABELS })
    await add(cr)
    expect(await refusal(add(cr))).toMatchObject({ code: 'registry_exists' })
    await rescan(cr)
    const params = { name: cr.name }
    expect(await cluster.api.updateRegistry({ params, body: { active: false } })).toMatchObject({
      active: false,
      images: 1,
    })
    expect(await offered()).toEqual([])
    expect(await refusal(start(cr))).toMatchObject({ code: 'bad_request' })
    await cluster.api.deleteRegistry({ params })
    expect(await refusal(cluster.api.deleteRegistry({ params }))).toMatchObject({ code: 'registry_not_found' })
    expect(await refusal(start(cr))).toMatchObject({ code: 'registry_not_found' })
    const user = await cluster.addUser('registries@example.org')
    expect(await refusal(user.listRegistries())).toMatchObject({ code: 'forbidden' })
  })

  test('a registry of Docker Hub needs name spaces, because Docker Hub has no catalogue', async () => {
    const hub = await cluster.api.createRegistry({ body: { name: 'index.docker.io' } })
    expect(hub).toMatchObject({ name: 'docker.io', url: 'https://registry-1.docker.io' })
  })

  test('passwords of registries are sealed, and sealed again when the master key is rotated', async () => {
    await using data = await temporaryDirectory()
    {
      await using first = await startTestManager({ dataDir: data.path })
      const { api } = await first.signIn()
      await api.createRegistry({ body: { name: 'cr.example.org', ...BOB } })
    }
    await addMasterKey(masterKeyPath(data.path))
    await using store = await openStore({ dataDir: data.path, log: silentLog })
    const before = await findRegistry(store.db, 'cr.example.org')
    expect(before?.sealed_password).not.toContain(BOB.password)
    await openSecretBox({ store, dataDir: data.path, log: silentLog })
    const [newest] = (await readMasterKeys(join(data.path, 'master.key'))) ?? []
    if (!newest) throw new Error('no key')
    const after = await findRegistry(store.db, 'cr.example.org')
    expect(createSecretBox([newest]).open(String(after?.sealed_password), 'registry:cr.example.org')).toBe(BOB.password)
  })

  test('a registry without TLS on another computer, or with half a sign-in, is refused', async () => {
    const create = (body: object) => refusal(cluster.api.createRegistry({ body: body as never }))
    const plain = { name: '10.0.0.5:5000', url: 'http://10.0.0.5:5000' }
    expect(await create(plain)).toMatchObject({
      code: 'bad_request',
      detail: { why: expect.stringContaining('unencrypted') as string },
    })
    expect(await create({ name: 'cr.example.org', username: 'bob' })).toMatchObject({ code: 'bad_request' })
    expect(await create({ name: 'not a host' })).toMatchObject({ code: 'bad_request' })
    expect(await cluster.api.createRegistry({ body: { ...plain, allowHttp: true } })).toMatchObject({ url: plain.url })
  })
})
