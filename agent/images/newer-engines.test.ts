import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createEngineClient, type EngineClient } from '../docker/engine-client.ts'
import { inspectImage, summarizePull } from './pull.ts'
import { createUnusedImages } from './unused-images.ts'

// Answers put together from Docker's list of changes: no engine with API 1.52 or newer was there for these tests. Berth asks newer engines to
// answer in 1.51, and meets these answers only with an engine that has given up that version.

async function engineThatAnswers(
  answers: Readonly<Record<string, () => unknown>>,
): Promise<AsyncDisposable & { readonly engine: EngineClient }> {
  await using stack = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const server = createServer((request, response) => {
    const answer = answers[`${request.method} ${request.url?.split('?')[0]}`]
    response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer?.() ?? { message: 'no such thing' }))
  })
  stack.defer(() => {
    server.close()
    server.closeAllConnections()
  })
  const socket = join(directory, 'engine.sock')
  await once(server.listen(socket), 'listening')
  const kept = stack.move()
  return { engine: createEngineClient(`unix://${socket}`), [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

test('an image that sets nothing has no variables, labels and folder, also where the engine leaves the fields out', async () => {
  await using world = await engineThatAnswers({
    'GET /images/tiny:1/json': () => ({ Id: 'sha256:1', Architecture: 'amd64', Config: { Cmd: ['sh'] } }),
  })
  expect(await inspectImage(world.engine, 'tiny:1')).toEqual({
    id: 'sha256:1',
    environment: [],
    labels: {},
    repoDigests: [],
    program: { command: ['sh'], directory: '/' },
    volumes: [],
    architecture: 'amd64',
  })
})

const image = { Id: 'sha256:1', RepoTags: ['tiny:1'], Config: {} }

test.each([
  ['LayersSize', (bytes: number) => ({ LayersSize: bytes, Images: [] })],
  ['ImageUsage', (bytes: number) => ({ ImageUsage: { TotalSize: bytes, TotalCount: 1 } })],
])('freed bytes are told from %s', async (_, usage) => {
  const sizes = [700, 300]
  await using world = await engineThatAnswers({
    'GET /system/df': () => usage(sizes.shift() ?? 0),
    'GET /images/sha256:1/json': () => image,
    'GET /containers/json': () => [],
    'DELETE /images/tiny:1': () => [],
  })
  const images = createUnusedImages({ engine: world.engine, starting: () => new Set() })
  const { removed, freedBytes } = await images.remove({ images: [{ id: 'sha256:1' }] })
  expect(removed).toEqual([{ id: 'sha256:1', references: ['tiny:1'] }])
  expect(freedBytes).toBe(400)
})

test('a pull of which the engine tells no layers has a progress of none', () => {
  expect(summarizePull(new Map())).toEqual({ layersDone: 0, layersTotal: 0, bytesDone: 0, bytesTotal: 0, layers: [] })
})
