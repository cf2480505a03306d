import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { AppError } from '#manager/contract'
import { listenAt, listenOnLoopback } from './loopback-listener.ts'
import { nextAfter, openListener } from './open-listener.ts'
import { findPortHolder } from './port-holder.ts'
import { createPortMemory } from './port-memory.ts'
import { listeningInodes } from './port-tables.ts'

let directory = ''
beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), 'berth-test-ports-'))))
afterEach(() => rm(directory, { recursive: true }))

test('a port is remembered per session name and app, with the session that had it', async () => {
  const memory = createPortMemory(directory)
  await Promise.all([
    memory.remember('train', 'sshd', { port: 30_001, sessionId: 'a' }),
    memory.remember('train', 'jupyter', { port: 30_002, sessionId: 'a' }),
  ])
  const other = createPortMemory(directory)
  expect(await other.recall('train', 'sshd')).toMatchObject({ port: 30_001, sessionId: 'a' })
  expect(await other.recall('train', 'jupyter')).toMatchObject({ port: 30_002 })
  expect(await other.recall('other', 'sshd')).toBeUndefined()
})

test('a damaged file of remembered values counts as empty and is rewritten', async () => {
  await writeFile(join(directory, 'ports.json'), '{ not json')
  const memory = createPortMemory(directory)
  expect(await memory.recall('train', 'sshd')).toBeUndefined()
  await memory.remember('train', 'sshd', { port: 30_001, sessionId: 'a' })
  expect(await memory.recall('train', 'sshd')).toMatchObject({ port: 30_001 })
})

test('ports that are remembered in the same moment are all kept, also beside those of another process', async () => {
  const memory = createPortMemory(directory)
  const other = createPortMemory(directory)
  await memory.remember('first', 'sshd', { port: 31_000, sessionId: 's' })
  await other.remember('elsewhere', 'sshd', { port: 31_001, sessionId: 's' })
  const names = Array.from({ length: 20 }, (_, index) => `at-once-${index}`)
  await Promise.all(names.map((name, index) => memory.remember(name, 'sshd', { port: 32_000 + index, sessionId: 's' })))
  const seen = createPortMemory(directory)
  expect(await seen.recall('first', 'sshd')).toMatchObject({ port: 31_000 })
  expect(await seen.recall('elsewhere', 'sshd')).toMatchObject({ port: 31_001 })
  const ports = await Promise.all(names.map(async name => (await seen.recall(name, 'sshd'))?.port))
  expect(ports).toEqual(names.map((_, index) => 32_000 + index))
})

test('a port that is to be avoided is not picked, however often the system offers it', async () => {
  const memory = createPortMemory(directory)
  class FirstOffers extends Set<number> {
    override has(port: number) {
      if (this.size < 5) this.add(port)
      return super.has(port)
    }
  }
  const avoided = new FirstOffers()
  const asked = { wanted: undefined, remembered: undefined, onPortTaken: 'fail', ownTunnelOn: () => undefined } as const
  const listener = await openListener({ ...asked, avoided, onConnection: socket => socket.destroy() })
  await listener.close()
  expect(avoided.size).toBe(5)
  expect([...avoided]).not.toContain(listener.port)
  await Promise.all([...avoided].map((port, at) => memory.remember(`s${at}`, 'web', { port, sessionId: 'a' })))
  expect(await createPortMemory(directory).all()).toEqual(new Set(avoided))
})

test('a port that an app had before its last one is remembered too', async () => {
  const memory = createPortMemory(directory)
  const had = [8_888, 41_234, 41_235, 8_888, 41_236]
  for (const port of had.slice(0, 3)) await memory.remember('train', 'jupyter', { port, sessionId: 'a' })
  await Promise.all(had.slice(3).map(port => memory.remember('train', 'jupyter', { port, sessionId: 'a' })))
  const again = createPortMemory(directory)
  expect(await again.all()).toEqual(new Set(had))
  expect(await again.recall('train', 'jupyter')).toMatchObject({ port: 41_236, before: [8_888, 41_235, 41_234] })
})

test('clients of an avoided port that the system offers are not taken in', async () => {
  const clients: Socket[] = []
  /** Connects a client to the first offered port while it is held, so that this offer is avoided. */
  class VisitedOffer extends Set<number> {
    override has(port: number) {
      if (this.size > 0) return super.has(port)
      clients.push(connect(port, '127.0.0.1').on('error', () => undefined))
      this.add(port)
      return true
    }
  }
  const taken: Socket[] = []
  const asked = { wanted: undefined, remembered: undefined, onPortTaken: 'fail', ownTunnelOn: () => undefined } as const
  const listener = await openListener({
    ...asked,
    avoided: new VisitedOffer(),
    onConnection: socket => taken.push(socket),
  })
  await expect.poll(() => clients.every(({ closed }) => closed)).toBe(true)
  expect([clients.length, taken.length]).toEqual([1, 0])
  await listener.close()
})

test('a port that the system reserves is told as such', async () => {
  const create = () => {
    const server = createServer()
    const denied = Object.assign(new Error('listen EACCES'), { code: 'EACCES' })
    server.listen = () => {
      setImmediate(() => server.emit('error', denied))
      return server
    }
    return server
  }
  const listening = listenAt(['127.0.0.1'], { port: 443, onConnection: () => undefined, create })
  await expect(listening).rejects.toMatchObject({
    code: 'port_not_allowed',
    detail: { port: 443, why: expect.stringContaining('1024') as string },
  })
})

test('a port that is taken or reserved is replaced by another one, unless the user wants this one only', () => {
  const taken = new AppError('port_in_use', { port: 443 })
  const reserved = new AppError('port_not_allowed', { port: 443 })
  const remembered = { wanted: undefined, onPortTaken: 'fail' } as const
  const preferred = { wanted: 443, onPortTaken: 'random' } as const
  const required = { wanted: 443, onPortTaken: 'fail' } as const
  const requests = [remembered, preferred, required]
  expect(requests.map(request => nextAfter(taken, request))).toEqual(['elsewhere', 'elsewhere', 'explain'])
  expect(requests.map(request => nextAfter(reserved, request))).toEqual(['elsewhere', 'elsewhere', 'fail'])
  expect(requests.map(request => nextAfter(new Error('EMFILE'), request))).toEqual(['fail', 'fail', 'fail'])
})

test('the inode of a listening socket is found in the table of the kernel, not that of a connection', () => {
  const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:7531 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1
   1: 0100007F:7531 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 4712 1
   2: 0100007F:7532 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1`
  expect(listeningInodes(table, 0x7531)).toEqual(['4711'])
})

test.runIf(process.platform === 'linux')('the process that holds a port is named', async () => {
  const listener = await listenOnLoopback({ port: 0, onConnection: socket => socket.destroy() })
  expect(await findPortHolder(listener.port)).toMatchObject({ pid: process.pid, isBerth: true })
  await listener.close()
  expect(await findPortHolder(listener.port)).toBeUndefined()
})

test.runIf(process.platform === 'linux')(
  'the program on a port is told with its script, not by the name of its thread',
  async () => {
    const script = join(directory, 'my-server.mjs')
    const code = `import { createServer } from 'node:net'
    const server = createServer().listen(0, '127.0.0.1', () => console.log(server.address().port))`
    await writeFile(script, code)
    const child = spawn(process.execPath, [script, '--password=secret'], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [port] = (await once(child.stdout, 'data')) as [Buffer]
    expect(await findPortHolder(Number(port))).toEqual({ pid: child.pid, name: 'node my-server.mjs' })
    child.kill()
  },
)

test.runIf(process.platform === 'linux')('another server of this installation on a port is Berth', async () => {
  const code = `import { createServer } from 'node:net'
  const server = createServer().listen(0, '127.0.0.1', () => console.log(server.address().port))`
  const ofBerth = fileURLToPath(new URL('open-listener.ts', import.meta.url))
  const child = spawn(process.execPath, ['--input-type=module', '-e', code, ofBerth], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  expect(await findPortHolder(Number(port))).toMatchObject({ pid: child.pid, isBerth: true })
  const request = {
    wanted: Number(port),
    remembered: undefined,
    onPortTaken: 'fail',
    ownTunnelOn: () => undefined,
  } as const
  await expect(openListener({ ...request, onConnection: socket => socket.destroy() })).rejects.toMatchObject({
    detail: { holder: { kind: 'berth' }, cause: 'port_of_berth' },
  })
  child.kill()
})

test.runIf(process.platform === 'linux')('the kernel probes a silent connection within half a minute', async () => {
  const accepted = Promise.withResolvers<Socket>()
  const listener = await listenOnLoopback({ port: 0, onConnection: accepted.resolve })
  const client = connect({ port: listener.port, host: '127.0.0.1' })
  const socket = await accepted.promise
  const { stdout } = await promisify(execFile)('ss', ['-tnoH', 'state', 'established', `sport = :${listener.port}`])
  expect(stdout).toMatch(/timer:\(keepalive,(30|2\d)(\.\d+)?sec/)
  client.destroy()
  socket.destroy()
  await listener.close()
})
