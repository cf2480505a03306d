import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { type SessionId } from '#manager/contract'
import { type Berth, type BerthUser, startBerth } from '../fixtures/berth.ts'
import { type CompatClient, compatClient, openCompat } from '../fixtures/compat-client.ts'
import { readForm } from '../../manager/http/compat/multipart.ts'

/** Clients of Backend.AI with a real session: code, files of its home, and a tunnel. */
const stack = new AsyncDisposableStack()
let berth: Berth
let owner: BerthUser
let client: CompatClient
let id: SessionId

beforeAll(async () => {
  berth = stack.use(await startBerth())
  owner = await berth.user('owner@example.org')
  const keypair = await owner.api.createKeypair({ body: {} })
  client = compatClient(await openCompat(await berth.api()), keypair)
  const config = {
    mounts: [],
    environ: {},
    resources: { cpu: '1', mem: '512m' },
    resource_opts: {},
    scalingGroup: null,
  }
  const body = { image: 'berth/python:3.13', name: 'real-one', type: 'interactive', group: 'default', config }
  const reply = await client.send('POST', '/session', { body })
  if (reply.status !== 201) throw new Error(reply.text)
  expect(reply.json).toMatchObject({ status: 'RUNNING', created: true })
  id = reply.json?.sessionId as SessionId
})
afterAll(() => stack.disposeAsync())

interface Answer {
  readonly status: string
  readonly console: readonly (readonly [string, string])[]
  readonly exitCode: number | null
}

function execute(message: object): Promise<Answer[]> {
  const path = `/stream/session/${id}/execute`
  const socket = new WebSocket(`ws://127.0.0.1:${client.port}${path}`, { headers: client.sign('GET', path) })
  const answers: Answer[] = []
  return new Promise((resolve, reject) => {
    socket.on('open', () => socket.send(JSON.stringify(message)))
    socket.on('message', (data: Buffer) => answers.push(JSON.parse(data.toString()) as Answer))
    socket.on('error', reject)
    socket.on('close', () => resolve(answers))
  })
}
const output = (answers: readonly Answer[], stream: string) =>
  answers
    .flatMap(answer => answer.console)
    .filter(([name]) => name === stream)
    .map(([, text]) => text)
    .join('')

test('a query runs, with both streams and its exit code', async () => {
  const code = 'import sys; print("out"); print("err", file=sys.stderr); sys.exit(3)'
  const answers = await execute({ mode: 'query', code, options: {} })
  expect([output(answers, 'stdout'), output(answers, 'stderr')]).toEqual(['out\n', 'err\n'])
  expect(answers.at(-1)).toMatchObject({ status: 'finished', exitCode: 3 })
})

test('code runs without a WebSocket, too: a request starts it, and further ones take what has come since', async () => {
  const send = async (body: object) => {
    const reply = await client.send('POST', '/session/real-one', { body })
    return reply.json?.result as Answer & { runId: string }
  }
  const code = 'import sys; print("out"); print("err", file=sys.stderr); sys.exit(3)'
  const all = [await send({ mode: 'query', code, runId: 'of-the-client', options: {} })]
  for (let last = all[0]; last?.status === 'continued'; all.push(last))
    last = await send({ mode: 'continue', code: '', runId: last.runId, options: {} })
  expect([output(all, 'stdout'), output(all, 'stderr')]).toEqual(['out\n', 'err\n'])
  expect(all.at(-1)).toMatchObject({ status: 'finished', exitCode: 3 })
  // A turn ends before clients give up, and the program goes on.
  const slow = await send({ mode: 'query', code: 'import time; print("first", flush=True); time.sleep(600)' })
  expect(slow).toMatchObject({ status: 'continued', exitCode: null })
  expect(await send({ mode: 'continue', code: '', runId: 'of-the-client' })).toBeUndefined()
  const other = await client.send('POST', '/session/real-one', { body: { mode: 'batch', code: '' } })
  expect(other).toMatchObject({ status: 501, text: expect.stringContaining('does not run the mode') as string })
})

test('files go into the home, are listed, run as a batch, and come back', async () => {
  const boundary = 'of-the-test'
  const big = Buffer.alloc(500_000, 'abcdefgh')
  const part = (name: string, bytes: Buffer) =>
    Buffer.concat([
      Buffer.from(
        `--${boundary}\r\nContent-Type: application/octet-stream\r\nContent-Disposition: form-data; name="src"; filename="${name}"\r\n\r\n`,
      ),
      bytes,
      Buffer.from('\r\n'),
    ])
  const body = Buffer.concat([
    part('main.py', Buffer.from('import sys; print("batch", len(open("more/big.bin").read()))')),
    part('more/big.bin', big),
    Buffer.from(`--${boundary}--\r\n`),
  ])
  const type = `multipart/form-data; boundary=${boundary}`
  const sent = await client.send('POST', `/session/${id}/upload`, { body, type, headers: { 'content-type': type } })
  expect(sent).toMatchObject({ status: 204 })
  const listed = await client.send('GET', '/session/real-one/files', { body: { path: '.' } })
  const files = JSON.parse(listed.json?.files as string) as { filename: string; size: number }[]
  expect(files).toEqual(expect.arrayContaining([expect.objectContaining({ filename: 'main.py', size: 60 })]))
  const answers = await execute({ mode: 'batch', code: '', options: { build: 'echo built', exec: '*' } })
  expect(answers.map(({ status }) => status)).toEqual(expect.arrayContaining(['build-finished', 'finished']))
  expect(output(answers, 'stdout')).toBe('built\nbatch 500000\n')
  const path = `/session/${id}/download`
  const reply = await fetch(`http://127.0.0.1:${client.port}${path}`, {
    method: 'POST',
    headers: client.sign('POST', path, { body: {} }),
    body: JSON.stringify({ files: ['main.py', 'more/big.bin'] }),
  })
  const form = readForm(Buffer.from(await reply.arrayBuffer()), reply.headers.get('content-type') ?? '')
  expect(form).toHaveLength(1)
  const tar = form[0]?.bytes ?? Buffer.alloc(0)
  expect(tar.includes('./main.py') && tar.includes('./big.bin')).toBe(true)
  expect(tar.includes(big)).toBe(true)
  expect(await client.send('POST', path, { body: { files: ['no-such-file'] } })).toMatchObject({ status: 400 })
  const outside = Buffer.concat([part('../../etc/x', Buffer.from('x')), Buffer.from(`--${boundary}--\r\n`)])
  const refused = await client.send('POST', `/session/${id}/upload`, {
    body: outside,
    type,
    headers: { 'content-type': type },
  })
  expect(refused).toMatchObject({ status: 400, json: { error_code: 'path_invalid' } })
})

test('a tunnel by the name of the session and the original’s name for SSH carries bytes both ways', async () => {
  const path = '/stream/session/real-one/tcpproxy?app=sshd'
  const socket = new WebSocket(`ws://127.0.0.1:${client.port}${path}`, {
    headers: client.sign('GET', path),
    perMessageDeflate: false,
  })
  const greeting = await new Promise<string>((resolve, reject) => {
    socket.on('message', (data: Buffer) => resolve(data.toString()))
    socket.on('error', reject)
  })
  expect(greeting).toMatch(/^SSH-2\.0-/)
  socket.close()
})

test('the log and the end', async () => {
  expect(await client.send('GET', '/session/real-one/logs')).toMatchObject({ status: 200 })
  expect(await client.send('DELETE', '/session/real-one?forced=true')).toMatchObject({
    status: 200,
    json: { stats: {} },
  })
})
