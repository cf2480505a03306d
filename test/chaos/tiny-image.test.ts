import { execFile, spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { type Session, TERMINAL_PROTOCOL } from '#manager/contract'
import { startWorld, type World } from '../fixtures/chaos-world.ts'

/** An image of one static program, without shell, libc and /etc: all features work through the toolbox. */
const run = promisify(execFile)
let world: World
let session: Session

beforeAll(async () => {
  world = await startWorld()
  await world.up()
  session = await world.runs((await world.create('tiny')).id, 20_000)
}, 300_000)
afterAll(async () => {
  await world.clear()
  await world[Symbol.asyncDispose]()
})

const busybox = (...args: string[]) =>
  world.engine.docker('exec', session.kernels[0]?.containerId ?? '', '/opt/berth/bin/busybox', ...args)
const succeeds = (...args: string[]) =>
  busybox(...args).then(
    () => true,
    () => false,
  )

test('berth ssh runs a command and returns its exit code', async () => {
  const { code, stdout } = await world.berth.cli('ssh', session.id, 'id -un; pwd; exit 42')
  expect({ code, stdout }).toEqual({ code: 42, stdout: 'work\n/home/work\n' })
})

test('berth sftp transfers a file in both directions', async () => {
  const path = (name: string) => join(world.data, name)
  const content = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 31) % 251))
  await writeFile(path('there'), content)
  await writeFile(path('batch'), `put ${path('there')} file\nget file ${path('back')}\n`)
  expect(await world.berth.cli('sftp', session.id, '-b', path('batch'))).toMatchObject({ code: 0 })
  expect((await readFile(path('back'))).equals(content)).toBe(true)
})

test('a terminal opens a shell that runs commands', async () => {
  const host = new URL(world.berth.url).host
  const target = `ws+unix:${world.door}:/api/v1/sessions/${session.id}/terminal?name=main&cols=80&rows=24`
  const socket = new WebSocket(target, [TERMINAL_PROTOCOL], { headers: { ...world.credentials, host } })
  let screen = ''
  socket.on('message', (data: Buffer, isBinary) => (screen += isBinary ? data.toString() : ''))
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  try {
    // Repeat the command: tmux may lose text typed before the shell has started.
    await expect.poll(() => screen, { timeout: 10_000 }).toMatch(/[$#] /)
    socket.send(Buffer.from('echo "sum is $((40 + 2))"\r'))
    await expect.poll(() => screen, { timeout: 10_000 }).toContain('sum is 42')
  } finally {
    socket.terminate()
  }
})

test('a session resolves names, and reaches neither another session nor servers on the host', async () => {
  const other = await world.runs((await world.create('neighbour')).id)
  const container = other.kernels[0]?.containerId ?? ''
  const address = await world.engine.docker(
    ...['inspect', '-f', '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}', container],
  )
  // Both run sshd once it was requested; the neighbour can be reached over the tunnel.
  expect(await world.berth.cli('ssh', other.id, 'echo alive')).toMatchObject({ code: 0 })
  expect(await succeeds('nc', '-w', '2', '127.0.0.1', '2222', '-e', '/sleep', '0')).toBe(true)
  expect(await succeeds('nc', '-w', '2', address, '2222', '-e', '/sleep', '0')).toBe(false)

  await using _server = await startNameServer()
  expect(await busybox('nslookup', 'berth.example')).toContain('192.0.2.7')
  // Sessions may query the name server on this host, but reach nothing else there.
  expect(await succeeds('nc', '-w', '2', nameServer, '5353', '-e', '/sleep', '0')).toBe(false)
})

/** Settings that the engine passes to its containers. */
const nameServer =
  /^nameserver\s+(?!127\.)(\d+(?:\.\d+){3})/m.exec(await readFile('/etc/resolv.conf', 'utf8'))?.[1] ?? '8.8.8.8'

/** Answers every question with 192.0.2.7, at the address of the machine's name server, in the network of the engine. Listens on TCP 5353, too. */
async function startNameServer(): Promise<AsyncDisposable> {
  const [enter, ...where] = world.engine.prefix
  await run(enter ?? '', [...where, 'ip', 'address', 'add', `${nameServer}/32`, 'dev', 'lo'])
  const child = spawn(enter ?? '', [...where, process.execPath, '-e', NAME_SERVER, nameServer], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await new Promise(resolve => child.stdout.once('data', resolve))
  return {
    async [Symbol.asyncDispose]() {
      const ended = new Promise(resolve => child.once('exit', resolve))
      child.kill('SIGKILL')
      await ended
    },
  }
}

const NAME_SERVER = `
const [address] = process.argv.slice(1)
const socket = require('node:dgram').createSocket('udp4')
socket.on('message', (question, from) => {
  const end = question.indexOf(0, 12) + 5
  const isA = question.readUInt16BE(end - 4) === 1
  const header = Buffer.concat([question.subarray(0, 2), Buffer.from([0x81, 0x80, 0, 1, 0, isA ? 1 : 0, 0, 0, 0, 0])])
  const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7])
  socket.send(Buffer.concat([header, question.subarray(12, end), ...(isA ? [answer] : [])]), from.port, from.address)
})
socket.bind(53, address, () => {
  require('node:net').createServer(peer => peer.end()).listen(5353, address, () => console.log('open'))
})
`
