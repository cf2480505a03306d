import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type ApiClient, type Folder, TUS_CONTENT, TUS_VERSION } from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { ADMIN, apiOf } from '../../fixtures/manager.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** Space that unfinished uploads reserve in a folder with a limit. */
const MIB = 2 ** 20
let cluster: SessionsCluster
let api: ApiClient
let storage: string
beforeAll(async () => {
  cluster = await startSessionsCluster()
  api = cluster.api
  storage = join(cluster.source.dataDir, 'storage', 'folders')
})
afterAll(() => cluster[Symbol.asyncDispose]())

const fill = ({ id }: Folder, name: string, bytes: number) => writeFile(join(storage, id, name), Buffer.alloc(bytes, 1))

test('uploads that are not finished count together; a cancelled one makes room', async () => {
  const folder = await api.createFolder({ body: { name: 'staged', maxBytes: 3 * MIB } })
  const { token } = await apiOf(cluster.url).login({ body: { ...ADMIN, kind: 'token' } })
  const authorization = `Bearer ${token ?? ''}`
  const headers = { authorization, 'tus-resumable': TUS_VERSION, 'upload-length': String(MIB) }
  const begin = async (path: string) => {
    const metadata = { 'upload-metadata': `path ${Buffer.from(path).toString('base64')}` }
    const address = `${cluster.url}/api/v1/folders/${folder.id}/uploads`
    const reply = await fetch(address, { method: 'POST', headers: { ...headers, ...metadata } })
    return { status: reply.status, location: reply.headers.get('location') ?? '', text: await reply.text() }
  }
  const statuses = async (names: readonly string[]) =>
    (await Promise.all(names.map(begin))).map(({ status }) => status).toSorted()
  const first = await begin('first')
  expect([first.status, await statuses(['second']), await statuses(['third'])]).toEqual([201, [201], [201]])
  // However many are begun at once, none is accepted.
  expect(await statuses(Array.from({ length: 8 }, (_, n) => `more-${n}`))).toEqual(Array<number>(8).fill(507))
  expect((await begin('one-more')).text).toContain('"cause":"quota_folder_staged"')
  expect(await readdir(join(storage, '..', 'uploads'))).toHaveLength(3)
  const part = (
    location: string,
    method: string,
    more: Record<string, string> = {},
    body: Uint8Array<ArrayBuffer> | null = null,
  ) =>
    fetch(new URL(location, cluster.url), {
      method,
      headers: { authorization, 'tus-resumable': TUS_VERSION, ...more },
      body,
    })
  expect((await part(first.location, 'DELETE')).status).toBe(204)
  const again = await begin('again')
  expect(again.status).toBe(201)
  // Uploads on record are finished without counting twice.
  const bytes = new Uint8Array(MIB).fill(1)
  const patch = { 'upload-offset': '0', 'content-type': TUS_CONTENT }
  expect((await part(again.location, 'PATCH', patch, bytes)).status).toBe(204)
  expect(await readdir(join(storage, folder.id))).toEqual(['again'])
})

/** Announces uploads into a folder, sends their bytes later, and checks the space that they reserve. */
async function announcerTo(folder: Folder) {
  const { token } = await apiOf(cluster.url).login({ body: { ...ADMIN, kind: 'token' } })
  const headers = { authorization: `Bearer ${token ?? ''}`, 'tus-resumable': TUS_VERSION }
  const store = await openToRead({ ...cluster.source, log: silentLog })
  const idOf = (location: string) => location.split('/').at(-1) ?? ''
  const patchOf = (location: string, offset = 0) => ({
    href: new URL(location, cluster.url),
    headers: { ...headers, 'upload-offset': String(offset), 'content-type': TUS_CONTENT },
  })
  return {
    patchOf,
    begin: (path: string, bytes: number, onConflict = 'fail') =>
      fetch(`${cluster.url}/api/v1/folders/${folder.id}/uploads`, {
        method: 'POST',
        headers: {
          ...headers,
          'upload-length': String(bytes),
          'upload-metadata': `path ${Buffer.from(path).toString('base64')},onConflict ${Buffer.from(onConflict).toString('base64')}`,
        },
      }),
    send(location: string, bytes: number, offset = 0) {
      const { href, headers: ofPatch } = patchOf(location, offset)
      return fetch(href, { method: 'PATCH', headers: ofPatch, body: new Uint8Array(bytes) })
    },
    silence: (seconds = 11 * 60) =>
      sql`update uploads set moved_at = now() - ${seconds} * interval '1 second' where folder_id = ${folder.id}`.execute(
        store.db,
      ),
    async heldOf(location: string) {
      const { rows } = await sql<{ received: number; isMoving: boolean }>`
        select received, moved_at > now() - interval '10 minutes' as "isMoving"
        from uploads where id = ${idOf(location)}`.execute(store.db)
      return rows[0]
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

test('an upload that sends nothing holds the room that it announced for minutes only, and what has arrived for as long as it lives', async () => {
  const folder = await api.createFolder({ body: { name: 'silent', maxBytes: 3 * MIB } })
  await using announcer = await announcerTo(folder)
  const { begin, send, silence, heldOf } = announcer
  const [location, other] = [
    (await begin('blocks', 3 * MIB)).headers.get('location') ?? '',
    (await begin('second', MIB)).status,
  ]
  expect(other).toBe(507)
  await silence()
  // A request without bytes does not count as progress.
  expect((await send(location, 0)).status).toBe(204)
  expect((await begin('third', 3 * MIB)).status).toBe(201)
  const half = (await begin('again', MIB)).status
  expect(half).toBe(507)
  // When continued, it must fit like a new one; if it does not, it reserves no more than before.
  const refused = await send(location, 2 * MIB)
  expect([refused.status, await refused.json()]).toMatchObject([507, { data: { cause: 'quota_folder_staged' } }])
  expect(await heldOf(location)).toEqual({ received: 0, isMoving: false })
  await silence()
  // With two thirds received, only the last third is free, however long nothing arrives.
  expect((await send(location, 2 * MIB)).status).toBe(204)
  await silence()
  expect([(await begin('too-large', 2 * MIB)).status, (await begin('fits', MIB)).status]).toEqual([507, 201])
  expect((await send(location, 1, 2 * MIB)).status).toBe(507)
  await silence()
  // When continued, it counts in full again.
  expect((await send(location, 1, 2 * MIB)).status).toBe(204)
  expect((await begin('beside', MIB)).status).toBe(507)
})

test('uploads that replace the same file do not share its room', async () => {
  const folder = await api.createFolder({ body: { name: `replaced-${randomUUID()}`, maxBytes: 3 * MIB } })
  await fill(folder, 'there', 3 * MIB)
  await using announcer = await announcerTo(folder)
  const { begin, send, silence } = announcer
  const location = (await begin('there', 3 * MIB, 'replace')).headers.get('location') ?? ''
  const second = await begin('there', 3 * MIB, 'replace')
  expect([second.status, await second.json()]).toMatchObject([507, { data: { cause: 'quota_folder_staged' } }])
  await silence()
  expect((await begin('there', 3 * MIB, 'replace')).status).toBe(201)
  // When continued, the same rule applies.
  expect((await send(location, MIB)).status).toBe(507)
})

test('uploads that replace different files of a full folder are begun together, and each file gives its room once', async () => {
  const folder = await api.createFolder({ body: { name: `files-${randomUUID()}`, maxBytes: 4 * MIB } })
  for (const name of ['one', 'two']) await fill(folder, name, 2 * MIB)
  await using announcer = await announcerTo(folder)
  const { begin, send, silence } = announcer
  const first = (await begin('one', 2 * MIB, 'replace')).headers.get('location') ?? ''
  // The space of a file that has just changed counts from the next measurement on.
  const second = async () => (await begin('two', 2 * MIB, 'replace')).status
  await expect.poll(second, { interval: 200 }).toBe(201)
  // None of it is free for others, nor a second time for the same file.
  expect((await begin('new', 1)).status).toBe(507)
  const again = await begin('two', 2 * MIB, 'replace')
  expect([again.status, await again.json()]).toMatchObject([507, { data: { cause: 'quota_folder_staged' } }])
  // When continued after a while, the same rule applies.
  await silence()
  await expect.poll(second, { interval: 200 }).toBe(201)
  expect((await send(first, 2 * MIB)).status).toBe(204)
  expect((await begin('new', 1)).status).toBe(507)
})

test('a replaced file that is deleted or grows meanwhile gives no more room than it has, and no more than replaces it', async () => {
  const folder = await api.createFolder({ body: { name: `changing-${randomUUID()}`, maxBytes: 4 * MIB } })
  for (const name of ['one', 'two']) await fill(folder, name, 2 * MIB)
  await using announcer = await announcerTo(folder)
  const { begin } = announcer
  expect((await begin('one', 2 * MIB, 'replace')).status).toBe(201)
  await rm(join(storage, folder.id, 'one'))
  // The upload needs the space that the file has left.
  expect((await begin('new', 1)).status).toBe(507)
  const status = async () => (await begin('two', 2 * MIB, 'replace')).status
  await expect.poll(status, { interval: 200 }).toBe(201)
  await fill(folder, 'one', 2 * MIB)
  await fill(folder, 'two', 3 * MIB)
  expect((await begin('new', 1)).status).toBe(507)
})

test('an upload that continues is judged when its first byte arrives, not when its request does', async () => {
  const folder = await api.createFolder({ body: { name: `late-${randomUUID()}`, maxBytes: 3 * MIB } })
  await using announcer = await announcerTo(folder)
  const { begin, silence, heldOf, patchOf } = announcer
  const location = (await begin('opened', 3 * MIB)).headers.get('location') ?? ''
  await silence(10 * 60 - 3)
  const { href, headers } = patchOf(location)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  const request = httpRequest(href, { agent, method: 'PATCH', headers: { ...headers, 'content-length': 3 * MIB } })
  request.flushHeaders()
  const answered = once(request, 'response') as Promise<[IncomingMessage]>
  const beginOther = async () => (await begin('other', 3 * MIB)).status
  expect(await beginOther()).toBe(507)
  await expect.poll(beginOther).toBe(201)
  request.end(Buffer.alloc(3 * MIB))
  const [reply] = await answered
  expect([reply.statusCode, await json(reply)]).toMatchObject([507, { data: { cause: 'quota_folder_staged' } }])
  expect(await heldOf(location)).toEqual({ received: 0, isMoving: false })
  // The refused bytes are discarded, and the connection accepts the next request.
  const next = httpRequest(href, { agent, method: 'HEAD', headers }).end()
  const [state] = (await once(next, 'response')) as [IncomingMessage]
  expect([state.statusCode, next.reusedSocket]).toEqual([204, true])
})

test('an upload whose connection breaks, or that cannot be placed, holds room for what has arrived', async () => {
  const folder = await api.createFolder({ body: { name: 'broken', maxBytes: 8 * MIB } })
  await using announcer = await announcerTo(folder)
  const { begin, send, heldOf, patchOf } = announcer
  const cut = (await begin('cut', 2 * MIB)).headers.get('location') ?? ''
  const { href, headers } = patchOf(cut)
  const request = httpRequest(href, { method: 'PATCH', headers: { ...headers, 'content-length': 2 * MIB } })
  request.on('error', () => undefined) // the connection is cut on purpose
  request.write(Buffer.alloc(MIB))
  await expect
    .poll(async () => (await stat(join(storage, '..', 'uploads', cut.split('/').at(-1) ?? ''))).size)
    .toBe(MIB)
  request.destroy()
  await expect.poll(async () => (await heldOf(cut))?.received).toBe(MIB)

  const placed = (await begin('taken', MIB)).headers.get('location') ?? ''
  await fill(folder, 'taken', 1)
  expect((await send(placed, MIB)).status).toBe(409)
  expect((await heldOf(placed))?.received).toBe(MIB)
})
