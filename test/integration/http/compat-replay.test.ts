import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { type ApiClient, type Session, type SigningKeypair } from '#manager/contract'
import { type CompatClient, compatClient, openCompat } from '../../fixtures/compat-client.ts'
import { rawRequest, type RawReply } from '../../fixtures/raw-http.ts'
import { type ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster, startSessionsCluster, USER_PASSWORD } from '../../fixtures/sessions-cluster.ts'

/**
 * Each request that clients of Backend.AI were seen to send, in the forms of their versions, and the fields of the answer that they read.
 * The session runs on a scripted agent; `test/engine/compat.test.ts` has a real one.
 */
let cluster: SessionsCluster
let agent: ScriptedAgent
let owner: ApiClient
let member: ApiClient
let keypair: SigningKeypair
let client: CompatClient
let admin: CompatClient
let session: Session
let isReady = false
beforeAll(async () => {
  cluster = await startSessionsCluster()
  owner = await cluster.addUser('owner@example.org')
  member = await cluster.addUser('member@example.org')
  keypair = await owner.createKeypair({ body: {} })
  const port = await openCompat(cluster.api)
  client = compatClient(port, keypair)
  admin = compatClient(port, await cluster.api.createKeypair({ body: {} }))
})
afterAll(() => cluster[Symbol.asyncDispose]())
// Polling is possible within tests only.
beforeEach(async () => {
  if (isReady) return
  agent = await cluster.join()
  const { id } = await cluster.launch({ name: 'first-session' }, owner)
  session = await cluster.reach(id, 'RUNNING')
  isReady = true
})

const ok = async (reply: Promise<RawReply>): Promise<Record<string, unknown>> => {
  const { status, json, text } = await reply
  if (status >= 300) throw new Error(`${status} ${text}`)
  return json ?? {}
}

/** Body of a launch as clients send it: what is not set is null. */
const launchBody = (more: object = {}, config: object = {}) => ({
  image: 'berth/python:3.13',
  name: 'pysdk-0123456789',
  type: 'interactive',
  startupCommand: null,
  enqueueOnly: false,
  maxWaitSeconds: 0,
  reuseIfExists: true,
  group: 'default',
  domain: 'default',
  tag: null,
  starts_at: null,
  bootstrap_script: null,
  owner_access_key: null,
  clusterSize: 1,
  clusterMode: 'single-node',
  dependencies: null,
  callback_url: null,
  architecture: 'x86_64',
  config: {
    mounts: [],
    mount_map: {},
    environ: {},
    resources: { cpu: '1', mem: '1g' },
    resource_opts: { shmem: null },
    scalingGroup: null,
    preopen_ports: null,
    attach_network: null,
    mount_options: null,
    ...config,
  },
  ...more,
})

describe('A1 to A3: what each command asks first', () => {
  test('version, without a signature', async () => {
    const reply = await rawRequest(`http://127.0.0.1:${client.port}/`)
    expect(reply.json).toMatchObject({
      version: expect.stringMatching(/^v\d+\.\d{8}$/) as string,
      manager: expect.any(String) as string,
    })
  })
  test('announcement', async () => {
    expect(await ok(client.send('GET', '/manager/announcement'))).toEqual({ enabled: false, message: '' })
    await cluster.api.updateSettings({ body: { announcement: 'Back at ten.' } })
    expect(await ok(client.send('GET', '/manager/announcement'))).toEqual({ enabled: true, message: 'Back at ten.' })
    await cluster.api.updateSettings({ body: { announcement: null } })
  })
  test('the own keypair, at both addresses of GraphQL', async () => {
    const query = 'query { keypair { user_id access_key secret_key is_active is_admin } }'
    const own = {
      user_id: 'owner@example.org',
      access_key: keypair.accessKey,
      secret_key: '',
      is_active: true,
      is_admin: false,
    }
    expect(await client.gql(query)).toEqual({ keypair: own })
    const body = { query, variables: null }
    expect(await ok(client.send('POST', '/admin/graphql', { body, version: 'v5.20191215' }))).toEqual({ keypair: own })
    expect(await admin.gql('query { keypair { is_admin } }')).toEqual({ keypair: { is_admin: true } })
  })
})

describe('A4, A11: sessions by GraphQL', () => {
  const QUERY = `query($limit:Int!, $offset:Int!, $ak:String, $status:String, $filter:String, $order:String) {
    compute_session_list(limit: $limit, offset: $offset, access_key: $ak, status: $status, filter: $filter, order: $order) {
      items { id main_kernel_id session_id name access_key group_name image type status status_info status_changed result tag created_at occupied_slots priority }
      total_count
    }
  }`
  test('a list as `ps` asks for it', async () => {
    const status =
      'PENDING,SCHEDULED,PREPARING,PULLING,PREPARED,RUNNING,RESTARTING,TERMINATING,RESIZING,SUSPENDED,ERROR'
    const variables = { limit: 10, offset: 0, ak: keypair.accessKey, status, filter: null, order: null }
    const { compute_session_list: list } = (await client.gql(QUERY, variables)) as { compute_session_list: unknown }
    const item = {
      id: session.id,
      session_id: session.id,
      name: 'first-session',
      type: 'INTERACTIVE',
      status: 'RUNNING',
      result: 'UNDEFINED',
      main_kernel_id: session.kernels[0]?.id,
    }
    expect(list).toMatchObject({ total_count: 1, items: [item] })
    const [{ occupied_slots }] = (list as { items: [{ occupied_slots: string }] }).items
    expect(JSON.parse(occupied_slots)).toMatchObject({
      cpu: expect.any(String) as string,
      mem: expect.stringMatching(/^\d+$/) as string,
    })
  })
  test('states that only the original has lead to an empty list, and wrong filters and orders are named', async () => {
    const base = { limit: 10, offset: 0 }
    expect(await client.gql(QUERY, { ...base, status: 'SUSPENDED' })).toMatchObject({
      compute_session_list: { total_count: 0 },
    })
    expect(await client.gql(QUERY, { ...base, filter: 'name == "first-session"', order: '-created_at' })).toMatchObject(
      {
        compute_session_list: { total_count: 1 },
      },
    )
    expect(await client.gql(QUERY, { ...base, offset: 1 })).toMatchObject({
      compute_session_list: { items: [], total_count: 1 },
    })
    await expect(client.gql(QUERY, { ...base, filter: 'age > 3' })).rejects.toThrow('filter: Berth takes')
    await expect(client.gql(QUERY, { ...base, order: 'age' })).rejects.toThrow('order: Berth sorts by')
    await expect(client.gql(QUERY, { ...base, limit: 100_000 })).rejects.toThrow('limit')
  })
  test('one session as `info` asks for it', async () => {
    const query = `query($session_id: UUID!) { compute_session(id: $session_id) {
      id name image tag created_at terminated_at status status_info status_data occupied_slots idle_checks
      containers { id cluster_role cluster_idx cluster_hostname agent status status_info status_data status_changed occupied_slots live_stat last_stat session_id image registry container_id resource_opts preopen_ports }
      dependencies { name id } } }`
    expect(await client.gql(query, { session_id: session.id })).toMatchObject({
      compute_session: {
        id: session.id,
        status: 'RUNNING',
        containers: [{ cluster_role: 'main', cluster_idx: 1, status: 'RUNNING' }],
        dependencies: [],
      },
    })
    expect(await client.gql(query, { session_id: '01900000-0000-7000-8000-000000000001' })).toEqual({
      compute_session: null,
    })
  })
})

describe('A5, A9, A10, A28: the life of a session', () => {
  test('a launch waits until the session runs; the same name is used again', async () => {
    const first = await client.send('POST', '/session', { body: launchBody() })
    expect(first.status).toBe(201)
    expect(first.json).toMatchObject({
      sessionName: 'pysdk-0123456789',
      status: 'RUNNING',
      created: true,
      servicePorts: expect.any(Array) as unknown,
    })
    const again = await client.send('POST', '/session', { body: launchBody({ maxWaitSeconds: 5 }) })
    expect(again).toMatchObject({ status: 200, json: { created: false, sessionId: first.json?.sessionId } })
    const strict = await client.send('POST', '/session', { body: launchBody({ reuseIfExists: false }) })
    expect(strict).toMatchObject({ status: 409, json: { type: 'https://api.backend.ai/probs/session-already-exists' } })
    expect(await ok(client.send('DELETE', '/session/pysdk-0123456789?forced=true'))).toEqual({ stats: {} })
  })
  test('a launch that is only queued answers at once, and what it asks for arrives', async () => {
    const config = { environ: { A: 'b' }, resources: { cpu: 2, mem: '2g' }, resource_opts: { shmem: '128m' } }
    const body = launchBody(
      { name: 'queued-one', enqueueOnly: true, tag: 'nightly', starts_at: '2199-01-01T00:00:00+09:00' },
      config,
    )
    const { sessionId } = await ok(
      client.send('POST', '/session', { body: { ...body, starts_at: new Date(Date.now() + 3_600_000).toISOString() } }),
    )
    const queued = await owner.getSession({ params: { id: sessionId as never } })
    expect(queued).toMatchObject({ status: 'PENDING', tags: ['nightly'], environ: { A: 'b' }, requested: { cpu: '2' } })
    await ok(client.send('DELETE', '/session/queued-one'))
  })
  test('what Berth has no counterpart for is refused by its name', async () => {
    const refused = async (more: object, config?: object) =>
      (await client.send('POST', '/session', { body: launchBody(more, config) })).json?.title
    expect(await refused({ bootstrap_script: 'date' })).toContain('bootstrap_script')
    expect(await refused({ callback_url: 'http://x/' })).toContain('callback_url')
    expect(await refused({}, { preopen_ports: [8000] })).toContain('preopen_ports')
    expect(await refused({}, { resources: { 'rocm.device': '1' } })).toContain('rocm.device')
    expect(await refused({ type: 'inference' })).toContain('inference')
    for (const priority of [-1, 21, 100]) expect(await refused({ priority })).toContain('0 to 20')
    expect((await client.send('POST', '/session/first-session/rename?name=other')).json?.title).toContain(
      'does not rename',
    )
  })
  test('the log, by name and by id', async () => {
    for (const name of ['first-session', session.id])
      expect(await ok(client.send('GET', `/session/${name}/logs`))).toMatchObject({
        result: { logs: expect.any(String) as string },
      })
    const reply = await client.send('GET', `/session/_/logs?taskId=${session.id}`)
    expect(reply).toMatchObject({ status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' } })
  })
  test('a restart ends it and starts it again under its name', async () => {
    await ok(client.send('POST', '/session', { body: launchBody({ name: 'restarted' }) }))
    expect((await client.send('PATCH', '/session/restarted')).status).toBe(204)
    const { items } = await owner.listSessions({ query: { name: 'restarted' } })
    expect(items.map(({ status }) => status)).toEqual(['RUNNING', 'TERMINATED'])
    await ok(client.send('DELETE', '/session/restarted'))
  })
  test('an image of it is asked for', async () => {
    expect(await ok(client.send('POST', '/session/first-session/commit'))).toMatchObject({ status: 'ongoing' })
    expect((await owner.getSessionImage({ params: { id: session.id } })).request).toMatchObject({
      reference: expect.stringMatching(/^users\/owner-\w+\/first-session:/) as string,
    })
  })
  test('its history, its matches and its figures', async () => {
    expect(await ok(client.send('GET', '/session/first-session/status-history'))).toMatchObject({
      result: { RUNNING: expect.any(String) as string },
    })
    expect(await ok(client.send('GET', '/session/_/match?id=first'))).toMatchObject({
      matches: [{ name: 'first-session' }],
    })
    expect(await ok(client.send('GET', '/session/first-session'))).toMatchObject({
      status: 'RUNNING',
      lang: 'berth/python:3.13',
    })
  })
  test('somebody else’s session is none', async () => {
    const other = compatClient(client.port, await member.createKeypair({ body: {} }))
    for (const name of ['first-session', session.id])
      expect(await other.send('DELETE', `/session/${name}`)).toMatchObject({
        status: 404,
        json: { type: 'https://api.backend.ai/probs/session-not-found' },
      })
  })
})

describe('A6, A7: apps and tunnels', () => {
  test('the list of apps, at both spellings', async () => {
    for (const kind of ['session', 'kernel']) {
      const reply = await client.send('GET', `/stream/${kind}/first-session/apps`)
      expect(reply.json).toEqual(
        expect.arrayContaining([
          expect.objectContaining({
            name: expect.any(String) as string,
            protocol: expect.any(String) as string,
            ports: [0],
          }),
        ]),
      )
    }
  })
  const upgrade = (path: string, headers: Record<string, string>) =>
    new Promise<{ status: number; text: string }>(resolve => {
      const socket = new WebSocket(`ws://127.0.0.1:${client.port}${path}`, { headers, perMessageDeflate: false })
      socket.once('unexpected-response', (_request, reply) => {
        let text = ''
        reply.on('data', (part: Buffer) => (text += part.toString()))
        reply.on('end', () => resolve({ status: reply.statusCode ?? 0, text }))
      })
      socket.once('open', () => {
        resolve({ status: 101, text: '' })
        socket.close()
      })
      socket.once('error', () => undefined)
    })
  test('so many executions of one sender are open at once, and each that ends makes room', async () => {
    const path = '/stream/session/first-session/execute'
    const open = () => {
      const headers = client.sign('GET', path, { date: new Date(Date.now() + opened.length) })
      const socket = new WebSocket(`ws://127.0.0.1:${client.port}${path}`, { headers, perMessageDeflate: false })
      opened.push(socket)
      return new Promise<number>(resolve => {
        socket.once('open', () => resolve(101))
        socket.once('unexpected-response', (_request, reply) => resolve(reply.statusCode ?? 0))
        socket.on('error', () => undefined)
      })
    }
    const opened: WebSocket[] = []
    const statuses = await Promise.all(Array.from({ length: 33 }, open))
    expect(statuses.filter(status => status === 429)).toHaveLength(1)
    expect(statuses.filter(status => status === 101)).toHaveLength(32)
    for (const socket of opened) socket.terminate()
    await expect.poll(async () => (await client.send('GET', '/auth')).status).toBe(200)
  })
  test('a tunnel by name reaches the gateway, once for each signature', async () => {
    const path = '/stream/session/first-session/tcpproxy?app=no-such-app'
    const headers = client.sign('GET', path)
    // The scripted agent has no data sockets; the refusal is that of the gateway, which knows the session.
    expect(await upgrade(path, headers)).toMatchObject({
      status: 404,
      text: expect.stringContaining('app_not_found') as string,
    })
    expect(await upgrade(path, headers)).toMatchObject({
      status: 401,
      text: expect.stringContaining('signature_replayed') as string,
    })
    expect(
      (await upgrade('/stream/session/first-session/pty', client.sign('GET', '/stream/session/first-session/pty')))
        .status,
    ).toBeGreaterThanOrEqual(400)
  })
})

describe('A12 to A24: folders', () => {
  test('create, list in both ways, id, info, hosts', async () => {
    const body = {
      name: 'data',
      host: null,
      unmanaged_path: null,
      group: null,
      usage_mode: 'general',
      permission: 'rw',
      quota: null,
      cloneable: false,
    }
    const reply = await client.send('POST', '/folders', { body })
    expect(reply).toMatchObject({
      status: 201,
      json: { name: 'data', host: 'local', id: expect.stringMatching(/^[0-9a-f]{32}$/) as string },
    })
    const { id } = reply.json as { id: string }
    const list = await client.send('GET', '/folders', { body: { all: false } })
    expect(list.json).toMatchObject([
      { name: 'data', id, is_owner: true, permission: 'wd', ownership_type: 'user', type: 'user' },
    ])
    const query = `query($limit:Int!, $offset:Int!, $filter:String, $order:String, $group_id:UUID) { vfolder_list(limit:$limit, offset:$offset, filter:$filter, order:$order, group_id:$group_id) { items { host name status created_at creator group permission ownership_type } total_count } }`
    expect(await client.gql(query, { limit: 100, offset: 0 })).toMatchObject({
      vfolder_list: { total_count: 1, items: [{ name: 'data', host: 'local', status: 'ready' }] },
    })
    expect(await ok(client.send('GET', '/folders/_/id', { body: { name: 'data' } }))).toEqual({ id })
    for (const name of ['data', id])
      expect(await ok(client.send('GET', `/folders/${name}`))).toMatchObject({
        name: 'data',
        cloneable: true,
        numFiles: 0,
      })
    expect(await ok(client.send('GET', '/folders/_/hosts'))).toMatchObject({ default: 'local', allowed: ['local'] })
    expect(await client.send('GET', '/folders/none')).toMatchObject({
      status: 404,
      json: { type: 'https://api.backend.ai/probs/vfolder-not-found' },
    })
  })
  test('upload by pieces, list, download', async () => {
    const { token, url } = await ok(
      client.send('POST', '/folders/data/request-upload', { body: { path: 'a.txt', size: 10 } }),
    )
    const at = `${url as string}?token=${token as string}`
    const patch = (offset: number, text: string) =>
      rawRequest(at, {
        method: 'PATCH',
        headers: {
          'tus-resumable': '1.0.0',
          'upload-offset': String(offset),
          'content-type': 'application/offset+octet-stream',
        },
        body: Buffer.from(text),
      })
    expect(await patch(0, 'hello')).toMatchObject({
      status: 204,
      headers: { 'upload-offset': '5', 'tus-resumable': '1.0.0' },
    })
    expect(await rawRequest(at, { method: 'HEAD' })).toMatchObject({
      status: 200,
      headers: { 'upload-offset': '5', 'upload-length': '10' },
    })
    expect(await patch(5, 'world')).toMatchObject({ status: 204, headers: { 'upload-offset': '10' } })
    for (const request of [
      { path: '/folders/data/files?path=.' },
      { path: '/folders/data/files', body: { path: '.' } },
    ]) {
      const { files, items } = await ok(client.send('GET', request.path, request.body ? { body: request.body } : {}))
      expect(JSON.parse(files as string)).toMatchObject([{ filename: 'a.txt', size: 10 }])
      expect(items).toMatchObject([{ name: 'a.txt', type: 'FILE' }])
    }
    const link = await ok(client.send('POST', '/folders/data/request-download', { body: { path: 'a.txt' } }))
    const got = await rawRequest(`${link.url as string}?token=${link.token as string}`)
    expect(got).toMatchObject({ status: 200, text: 'helloworld', headers: { 'content-length': '10' } })
  })
  test('an empty file is there after its upload', async () => {
    const { token, url } = await ok(
      client.send('POST', '/folders/data/request-upload', { body: { path: 'empty', size: 0 } }),
    )
    expect(
      await rawRequest(`${url as string}?token=${token as string}`, {
        method: 'PATCH',
        headers: { 'upload-offset': '0' },
      }),
    ).toMatchObject({ status: 204, headers: { 'upload-offset': '0' } })
    const { items } = await ok(client.send('GET', '/folders/data/files?path=.'))
    expect(items).toMatchObject([{ name: 'a.txt' }, { name: 'empty', size: 0 }])
  })
  test('a token ends with the keypair that asked for it', async () => {
    const other = await owner.createKeypair({ body: {} })
    const theirs = compatClient(client.port, other)
    const { token, url } = await ok(
      theirs.send('POST', '/folders/data/request-upload', { body: { path: 'late', size: 5 } }),
    )
    await owner.updateKeypair({ params: { accessKey: other.accessKey }, body: { active: false } })
    const reply = await rawRequest(`${url as string}?token=${token as string}`, {
      method: 'PATCH',
      headers: { 'upload-offset': '0' },
      body: Buffer.from('hello'),
    })
    expect(reply).toMatchObject({ status: 401, json: { error_code: 'keypair_inactive' } })
  })
  test('directories, names, moves, deletions', async () => {
    await ok(client.send('POST', '/folders/data/mkdir', { body: { path: 'old', parents: false, exist_ok: false } }))
    expect(
      await ok(
        client.send('POST', '/folders/data/mkdir', {
          body: { path: ['one', 'two/three'], parents: true, exist_ok: true },
        }),
      ),
    ).toMatchObject({
      results: { success: [{ item: 'one' }, { item: 'two/three' }], failed: [] },
    })
    await ok(client.send('POST', '/folders/data/rename_file', { body: { target_path: 'empty', new_name: 'none' } }))
    await ok(
      client.send('POST', '/folders/data/rename-file', {
        body: { target_path: 'none', new_name: 'nothing', is_dir: false },
      }),
    )
    await ok(client.send('POST', '/folders/data/move-file', { body: { src: 'nothing', dst: 'one/nothing' } }))
    expect(
      await client.send('DELETE', '/folders/data/delete-files', { body: { files: ['one'], recursive: false } }),
    ).toMatchObject({ status: 400 })
    await ok(
      client.send('DELETE', '/folders/data/delete-files', { body: { files: ['one', 'two', 'old'], recursive: true } }),
    )
    const { items } = await ok(client.send('GET', '/folders/data/files?path=.'))
    expect(items).toMatchObject([{ name: 'a.txt' }])
    await ok(client.send('POST', '/folders/data/rename', { body: { new_name: 'figures' } }))
  })
  test('invitations from one to the other', async () => {
    const other = compatClient(client.port, await member.createKeypair({ body: {} }))
    const who = 'member@example.org'
    expect(
      await ok(client.send('POST', '/folders/figures/invite', { body: { perm: 'ro', user_ids: [who] } })),
    ).toMatchObject({ invited_ids: [who] })
    const { invitations } = (await ok(other.send('GET', '/folders/invitations/list'))) as {
      invitations: { id: string }[]
    }
    expect(invitations).toMatchObject([
      { vfolder_name: 'figures', inviter: 'owner@example.org', perm: 'ro', state: 'pending' },
    ])
    await ok(other.send('POST', '/folders/invitations/accept', { body: { inv_id: invitations[0]?.id } }))
    expect((await other.send('GET', '/folders')).json).toMatchObject([
      { name: 'figures', is_owner: false, permission: 'ro' },
    ])
    expect(await ok(client.send('DELETE', '/folders/figures/unshare', { body: { emails: [who] } }))).toEqual({
      unshared_emails: [who],
    })
    expect(
      await ok(client.send('POST', '/folders/figures/share', { body: { permission: 'rw', emails: [who] } })),
    ).toEqual({ shared_emails: [who] })
    const [sent] = ((await ok(other.send('GET', '/folders/invitations/list'))) as { invitations: { id: string }[] })
      .invitations
    await ok(other.send('DELETE', '/folders/invitations/delete', { body: { inv_id: sent?.id } }))
  })
  test('a copy, and its events', async () => {
    const body = {
      target_name: 'again',
      target_host: 'local',
      usage_mode: 'general',
      permission: 'rw',
      cloneable: false,
    }
    const { bgtask_id } = await ok(client.send('POST', '/folders/figures/clone', { body }))
    const { text } = await client.send('GET', `/events/background-task?task_id=${bgtask_id as string}`)
    expect(text).toMatch(/event: bgtask_done\ndata: \{.*\}\n\n/)
  })
  test('the trash of older and newer clients', async () => {
    expect((await client.send('DELETE', '/folders/again')).status).toBe(204)
    const { id } = await ok(client.send('GET', '/folders/_/id', { body: { name: 'figures' } }))
    expect((await client.send('DELETE', '/folders', { body: { vfolder_id: id } })).status).toBe(204)
    expect((await client.send('POST', '/folders/restore-from-trash-bin', { body: { vfolder_id: id } })).status).toBe(
      204,
    )
    expect((await client.send('DELETE', '/folders', { body: { id } })).status).toBe(204)
    expect((await client.send('POST', '/folders/delete-from-trash-bin', { body: { id } })).status).toBe(204)
    expect((await client.send('GET', '/folders')).json).toEqual([])
  })
})

describe('A29, A30 and the rest', () => {
  test('events of a session, with JSON in each', async () => {
    const path = '/events/session?sessionName=watched&scope=*'
    const reply = await fetch(`http://127.0.0.1:${client.port}${path}`, { headers: client.sign('GET', path) })
    const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader()
    await ok(client.send('POST', '/session', { body: launchBody({ name: 'watched' }) }))
    await ok(client.send('DELETE', '/session/watched'))
    let text = ''
    while (!text.includes('session_terminated')) text += (await reader.read()).value ?? ''
    await reader.cancel()
    expect(text).toContain('event: session_started')
    for (const [, data = ''] of text.matchAll(/^data: (.*)$/gm))
      expect(JSON.parse(data)).toMatchObject({ sessionName: 'watched' })
  })
  test('dotfiles', async () => {
    const dotfile = { path: '.vimrc', data: 'set nu', permission: '0644' }
    await ok(client.send('POST', '/user-config/dotfiles', { body: dotfile }))
    expect((await client.send('GET', '/user-config/dotfiles')).json).toMatchObject([
      { path: '.vimrc', permission: '644', data: 'set nu' },
    ])
    expect(await ok(client.send('GET', '/user-config/dotfiles?path=.vimrc'))).toMatchObject({
      data: 'set nu',
      perm: '644',
    })
    await ok(client.send('DELETE', '/user-config/dotfiles?path=.vimrc'))
    expect(await client.send('GET', '/user-config/dotfiles?path=.vimrc')).toMatchObject({ status: 404 })
  })
  test('sizes, presets and resource groups', async () => {
    await cluster.api.createPreset({ body: { name: 'small', slots: { cpu: '1', mem: '1g' }, shmem: '64m' } })
    expect(await ok(client.send('GET', '/resource/presets'))).toMatchObject({
      presets: expect.arrayContaining([
        { name: 'small', resource_slots: { cpu: '1', mem: '1073741824' }, shared_memory: '67108864' },
      ]) as unknown,
    })
    expect(
      await ok(
        client.send('POST', '/resource/check-presets', { body: { group: 'default', scaling_group: 'default' } }),
      ),
    ).toMatchObject({
      keypair_limits: { cpu: 'Infinity' },
      keypair_using: { cpu: expect.any(String) as string },
      presets: expect.arrayContaining([expect.objectContaining({ name: 'small', allocatable: true })]) as unknown,
    })
    expect(await ok(client.send('GET', '/scaling-groups?group=default'))).toEqual({
      scaling_groups: [{ name: 'default' }],
    })
    expect(await ok(client.send('GET', '/config/resource-slots'))).toMatchObject({ cpu: 'count', mem: 'bytes' })
    // The JavaScript client asks without a signature.
    const unsigned = await rawRequest(`http://127.0.0.1:${client.port}/config/resource-slots`, { method: 'GET' })
    expect(unsigned).toMatchObject({ status: 200, json: { cpu: 'count' } })
    for (const path of [
      '/folders/_/allowed_types',
      '/template/session',
      '/logs/error?mark_read=false&page_size=20&page_no=1',
      '/manager/status',
      '/auth',
    ])
      expect((await client.send('GET', path)).status, path).toBe(200)
  })
})

describe('lists of administrators', () => {
  test.each([
    [
      'agents',
      'query($limit:Int!,$offset:Int!,$status:String){ agent_list(limit:$limit,offset:$offset,status:$status){ items{ id status architecture scaling_group region first_contact cpu_cur_pct mem_cur_bytes available_slots occupied_slots } total_count } }',
      { limit: 10, offset: 0, status: 'ALIVE' },
    ],
    [
      'images',
      'query($is_operation:Boolean){ images(is_operation:$is_operation){ name registry architecture tag digest size_bytes aliases } }',
      { is_operation: false },
    ],
    [
      'keypairs',
      'query($limit:Int!,$offset:Int!){ keypair_list(limit:$limit,offset:$offset){ items{ user_id projects user_info{full_name} access_key secret_key is_active is_admin created_at last_used resource_policy rate_limit concurrency_used } total_count } }',
      { limit: 10, offset: 0 },
    ],
    [
      'policies',
      'query { keypair_resource_policies { name created_at default_for_unspecified total_resource_slots max_concurrent_sessions max_containers_per_session max_vfolder_count idle_timeout allowed_vfolder_hosts } }',
      {},
    ],
    [
      'users',
      'query($limit:Int!,$offset:Int!,$status:String,$group_id:UUID){ user_list(limit:$limit,offset:$offset,status:$status,group_id:$group_id){ items{ uuid username role email password full_name need_password_change status status_info created_at domain_name groups{id name} allowed_client_ip sudo_session_enabled main_access_key } total_count } }',
      { limit: 10, offset: 0, status: 'active' },
    ],
    [
      'groups',
      'query($domain_name:String){ groups(domain_name:$domain_name){ id name domain_name description is_active created_at total_resource_slots allowed_vfolder_hosts } }',
      { domain_name: 'default' },
    ],
    [
      'domains',
      'query { domains { name description is_active created_at total_resource_slots allowed_vfolder_hosts allowed_docker_registries } }',
      {},
    ],
    [
      'scaling groups',
      'query { scaling_groups { name description is_active created_at driver driver_opts scheduler scheduler_opts is_public use_host_network wsproxy_addr } }',
      {},
    ],
    [
      'volumes',
      'query($limit:Int!,$offset:Int!){ storage_volume_list(limit:$limit,offset:$offset){ items{ id backend capabilities } total_count } }',
      { limit: 10, offset: 0 },
    ],
  ])('%s', async (_what, query, variables) => {
    const data = JSON.stringify(await admin.gql(query, variables))
    expect(data).toMatch(/\{"\w+":(\[\{|\{"items":\[\{)/)
  })
  test('users are made, changed and deactivated, and a refusal is an answer', async () => {
    const create =
      'mutation($email:String!,$input:UserInput!){ create_user(email:$email, props:$input){ ok msg user{ email uuid domain_name groups{id name} } } }'
    const input = {
      username: 'new',
      password: 'Their-own-pass-1',
      need_password_change: true,
      full_name: 'New',
      role: 'user',
      domain_name: 'default',
      status: 'active',
    }
    expect(await admin.gql(create, { email: 'new@example.org', input })).toMatchObject({
      create_user: { ok: true, user: { email: 'new@example.org' } },
    })
    expect(await admin.gql(create, { email: 'new@example.org', input })).toMatchObject({
      create_user: { ok: false, msg: expect.stringContaining('exists') as string },
    })
    expect(await client.gql(create, { email: 'other@example.org', input })).toMatchObject({
      create_user: { ok: false },
    })
    const remove = 'mutation($email:String!){ delete_user(email:$email){ ok msg } }'
    expect(await admin.gql(remove, { email: 'new@example.org' })).toMatchObject({ delete_user: { ok: true } })
  })
})

describe('members of groups', () => {
  const modify = async (gid: string, user_uuids: string[]) => {
    const query = 'mutation($gid:UUID!,$input:ModifyGroupInput!){ modify_group(gid:$gid, props:$input){ ok msg } }'
    return await admin.gql(query, { gid, input: { user_update_mode: 'add', user_uuids } })
  }
  test('an id that is none is refused by its name, and nobody is added', async () => {
    const { id } = await cluster.api.createGroup({ body: { name: 'of-clients' } })
    const { user } = await member.me()
    expect(await modify(id, [user.id, 'not-an-id'])).toEqual({
      modify_group: { ok: false, msg: expect.stringContaining('"not-an-id"') as string },
    })
    const groupsOf = async () => (await cluster.api.getUser({ params: { id: user.id } })).groups.map(one => one.id)
    expect(await groupsOf()).not.toContain(id)
    expect(await modify(id, [user.id])).toMatchObject({ modify_group: { ok: true } })
    expect(await groupsOf()).toContain(id)
  })
})

describe('web mode', () => {
  test('sign in, ask below /func, sign out', async () => {
    const base = `http://127.0.0.1:${client.port}`
    expect(await rawRequest(`${base}/func/`)).toMatchObject({
      status: 200,
      json: { version: expect.any(String) as string },
    })
    const login = (password: string) =>
      rawRequest(`${base}/server/login`, { method: 'POST', body: { username: 'owner@example.org', password } })
    expect((await login('wrong-password-1')).json).toMatchObject({ authenticated: false })
    const signedIn = await login(USER_PASSWORD)
    expect(signedIn.json).toMatchObject({
      authenticated: true,
      data: { access_key: expect.stringMatching(/^AKIA/) as string, role: 'user', status: 'active' },
    })
    const cookie = signedIn.headers['set-cookie']?.[0] ?? ''
    expect(cookie).toMatch(/HttpOnly; SameSite=Strict/)
    const own = { cookie: cookie.split(';')[0] ?? '' }
    expect((await rawRequest(`${base}/func/folders`, { headers: own })).json).toEqual([])
    const token = own.cookie.split('=')[1] ?? ''
    expect(
      await rawRequest(`${base}/func/manager/announcement`, { headers: { 'x-backendai-sessionid': token } }),
    ).toMatchObject({ status: 200 })
    expect(await rawRequest(`${base}/server/logout`, { method: 'POST', headers: own })).toMatchObject({ status: 200 })
    expect(await rawRequest(`${base}/func/folders`, { headers: own })).toMatchObject({ status: 401 })
  })
})

test('nothing that was asked of the agent has a secret of the adapter', () => {
  expect(JSON.stringify(agent.requests('create_kernel'))).not.toContain(keypair.secretKey)
})
