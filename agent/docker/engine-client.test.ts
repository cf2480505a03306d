import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import util from 'node:util'
import { expect, test, vi } from 'vitest'
import {
  chooseApiVersion,
  createEngineClient,
  engineMessage,
  fromEngine,
  isEngineUnreachable,
} from './engine-client.ts'

test.each([
  [
    '(HTTP code 500) server error - Get "https://registry.example/v2/": no such host ',
    'Get "https://registry.example/v2/": no such host',
  ],
  ['(HTTP code 404) no such image - pull access denied - log in ', 'pull access denied - log in'],
  ['connect ECONNREFUSED /var/run/docker.sock', 'connect ECONNREFUSED /var/run/docker.sock'],
])("the engine's message is quoted without HTTP details: %s", (message, said) => {
  expect(engineMessage(new Error(message))).toBe(said)
})

test('the body of an answer is preferred to the text made of it', () => {
  const error = Object.assign(new Error('(HTTP code 409) conflict - [object Object]'), { json: { message: 'in use' } })
  expect(engineMessage(error)).toBe('in use')
})

test('a missing socket means that the engine does not answer; another missing file does not', async () => {
  const { calls } = createEngineClient('unix:///no/such/docker.sock')
  expect(isEngineUnreachable(await calls.ping().catch((error: unknown) => error))).toBe(true)

  const error: unknown = await mkdir('/no/such/folder').catch((error: unknown) => error)
  expect(isEngineUnreachable(error)).toBe(false)
  const said = "ENOENT: no such file or directory, mkdir '/no/such/folder'"
  expect(fromEngine(error, 'kernel_create_failed')).toMatchObject({
    code: 'kernel_create_failed',
    detail: { why: said },
  })
})

test('a call costs the same however many streams are open: docker-modem prints the options of each request', async () => {
  await using stack = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const socket = join(directory, 'engine.sock')
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/_ping')) response.end('OK')
    else response.write('{}\n') // a stream that continues
  })
  stack.defer(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server.listen(socket), 'listening')

  const { calls, streams } = createEngineClient(`unix://${socket}`)
  const inspect = vi.spyOn(util, 'inspect')
  stack.defer(() => inspect.mockRestore())
  const end = new AbortController()
  for (let stream = 0; stream < 3; stream++) await streams.getEvents({ abortSignal: end.signal })
  await calls.ping()
  const printed = inspect.mock.results.map(({ value }) => String(value).length)
  expect(printed.length).toBeGreaterThan(0)
  expect(Math.max(...printed)).toBeLessThan(1_000)
})

test.each([
  ['of an old engine', '1.41', '1.12', '1.41'],
  ['that was tried last, for a newer engine', '1.56', '1.44', '1.51'],
  ['that a far newer engine knows at least', '1.70', '1.60', '1.60'],
  ['by its number, not by its letters', '1.9', undefined, '1.9'],
])('the version of the API is the one %s', (_, ApiVersion, MinAPIVersion, expected) => {
  expect(chooseApiVersion({ ApiVersion, MinAPIVersion })).toBe(expected)
})

test('calls and streams have the version that was negotiated, and the next engine is asked without one', async () => {
  await using stack = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  let newest = '1.41'
  let component = 'Engine'
  const asked: (string | undefined)[] = []
  const server = createServer((request, response) => {
    asked.push(request.url)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ ApiVersion: newest, Components: [{ Name: component }] }))
  })
  stack.defer(() => {
    server.close()
    server.closeAllConnections()
  })
  const socket = join(directory, 'engine.sock')
  await once(server.listen(socket), 'listening')

  const engine = createEngineClient(`unix://${socket}`)
  await engine.negotiate()
  await engine.calls.info()
  newest = '1.48'
  await engine.negotiate()
  await engine.streams.info()
  expect(asked).toEqual(['/version', '/v1.41/info', '/version', '/v1.48/info'])
  component = 'Podman Engine'
  await expect(engine.negotiate()).rejects.toMatchObject({
    code: 'config_invalid',
    detail: { cause: 'engine_is_podman' },
  })
})
