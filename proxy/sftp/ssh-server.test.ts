import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Duplex, PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import ssh2 from 'ssh2'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AppError } from '#manager/contract'
import { listenOnLoopback, type LoopbackListener } from '../listeners/loopback-listener.ts'
import { silentLog } from '../log.ts'
import { newKeyPair, parseOpensshKey, publicLineOf } from '../ssh/openssh-key.ts'
import { createSshServer, type SshServer } from './ssh-server.ts'

const [host, client, stranger] = [newKeyPair('host'), newKeyPair('client'), newKeyPair('stranger')]

let server: SshServer
let listener: LoopbackListener
beforeEach(async () => {
  server = await createSshServer({
    hostKey: host.privateKey,
    allowedKeys: () => Promise.resolve([client.publicKey]),
    openSftp: () => Promise.resolve(new PassThrough()),
    onChange: () => undefined,
    log: silentLog,
  })
  listener = await listenOnLoopback({ port: 0, onConnection: socket => server.accept(socket) })
})
afterEach(async () => {
  const closed = listener.close()
  server.close()
  await closed
})

function open(config: ssh2.ConnectConfig): Promise<ssh2.Client> {
  return new Promise((resolve, reject) => {
    const connection = new ssh2.Client()
    connection.on('ready', () => resolve(connection)).on('error', reject)
    connection.connect({ host: '127.0.0.1', port: listener.port, username: 'anybody', ...config })
  })
}

/** Bytes that come back from the subsystem. */
function echo(connection: ssh2.Client, bytes: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    connection.subsys('sftp', (error, channel) => {
      if (error) {
        reject(error)
        return
      }
      const chunks: Buffer[] = []
      channel.on('data', (chunk: Buffer) => chunks.push(chunk))
      channel.on('close', () => resolve(Buffer.concat(chunks)))
      channel.end(bytes)
    })
  })
}

test('an allowed key opens the subsystem sftp, whose bytes arrive unchanged', async () => {
  const connection = await open({ privateKey: client.privateKey })
  expect(server.connections).toBe(1)
  const bytes = randomBytes(3_000_000)
  expect((await echo(connection, bytes)).equals(bytes)).toBe(true)
  connection.end()
  await expect.poll(() => server.connections).toBe(0)
})

test('an answer is one write to the client, not one for each part of its packet', async () => {
  const wire = new PassThrough()
  const duplex = Duplex.from({ readable: wire, writable: new PassThrough().resume() })
  let writes = 0
  const one = await createSshServer({
    hostKey: host.privateKey,
    allowedKeys: () => Promise.resolve([client.publicKey]),
    openSftp: () => Promise.resolve(duplex),
    onChange: () => undefined,
    log: silentLog,
  })
  const listening = await listenOnLoopback({
    port: 0,
    onConnection: socket => {
      const handle = (
        socket as unknown as {
          _handle: { writev: (...args: unknown[]) => unknown; writeBuffer: (...args: unknown[]) => unknown }
        }
      )._handle
      for (const name of ['writev', 'writeBuffer'] as const) {
        const write = handle[name].bind(handle)
        handle[name] = (...args) => {
          writes++
          return write(...args)
        }
      }
      one.accept(socket)
    },
  })
  const connection = await open({ privateKey: client.privateKey, port: listening.port })
  const channel = await new Promise<ssh2.ClientChannel>((resolve, reject) =>
    connection.subsys('sftp', (error, opened) => (error ? reject(error) : resolve(opened))),
  )
  const got: Buffer[] = []
  channel.on('data', (chunk: Buffer) => got.push(chunk))
  wire.write('first')
  await expect.poll(() => Buffer.concat(got).toString()).toBe('first')
  const before = writes
  wire.write('second')
  await expect.poll(() => Buffer.concat(got).toString()).toBe('firstsecond')
  expect(writes - before).toBe(1)
  connection.end()
  const closed = listening.close()
  one.close()
  await closed
})

describe('a client without the key is refused', () => {
  test('with another key, with a password, with nothing', async () => {
    await expect(open({ privateKey: stranger.privateKey })).rejects.toThrow('authentication methods failed')
    await expect(open({ password: 'work' })).rejects.toThrow('authentication methods failed')
    await expect(open({})).rejects.toThrow('authentication methods failed')
  })

  test('with the public key and a signature of another key, or one that is no signature', async () => {
    const known = ssh2.utils.parseKey(client.publicKey) as ssh2.ParsedKey
    const other = ssh2.utils.parseKey(stranger.privateKey) as ssh2.ParsedKey
    for (const forged of [(data: Buffer) => other.sign(data), () => Buffer.alloc(64), () => Buffer.alloc(0)]) {
      class Forger extends ssh2.BaseAgent {
        override getIdentities(done: (error: Error | undefined, keys?: ssh2.ParsedKey[]) => void) {
          done(undefined, [known])
        }
        override sign(_key: unknown, data: Buffer, ...rest: unknown[]) {
          const done = rest.at(-1) as (error: Error | undefined, signature: Buffer) => void
          done(undefined, forged(data))
        }
      }
      await expect(open({ agent: new Forger() })).rejects.toThrow()
      expect(server.connections).toBe(0)
    }
  })
})

test('strangers who stay connected keep nobody out, and nobody inside is cut for them', async () => {
  const inside = await open({ privateKey: client.privateKey })
  let cuts = 0
  for (let at = 0; at < 200; at++) {
    const socket = connect(listener.port, '127.0.0.1')
    socket.on('error', () => undefined).resume()
    socket.once('close', () => cuts++)
  }
  await expect.poll(() => cuts).toBeGreaterThan(50)
  for (let time = 0; time < 5; time++) (await open({ privateKey: client.privateKey })).end()
  expect((await echo(inside, Buffer.from('still here'))).toString()).toBe('still here')
  inside.end()
})

test('there is no forwarding and no other subsystem; shells and commands say what the port is for', async () => {
  const connection = await open({ privateKey: client.privateKey })
  const refused = (act: (done: (error: Error | undefined) => void) => unknown) =>
    expect(
      new Promise<void>((resolve, reject) => void act(error => (error ? reject(error) : resolve()))),
    ).rejects.toThrow()
  const said = (ask: (done: ssh2.ClientCallback) => unknown) =>
    new Promise<string>((resolve, reject) => {
      ask((error, channel) => {
        if (error) {
          reject(error)
          return
        }
        let [text, exitCode] = ['', -1]
        channel.stderr.on('data', (chunk: Buffer) => (text += String(chunk)))
        channel.on('exit', (code: number) => (exitCode = code)).on('close', () => resolve(`${text}${exitCode}`))
        channel.on('data', (chunk: Buffer) => (text += String(chunk)))
      })
    })
  const told = /^Berth: This port moves files by SFTP only\. .*\r\n1$/
  expect(await said(done => connection.shell(done))).toMatch(told)
  expect(await said(done => connection.exec('scp -t .', done))).toMatch(told)
  await refused(done => connection.subsys('netconf', done))
  await refused(done => connection.forwardOut('127.0.0.1', 1, '127.0.0.1', 22, done))
  await refused(done => connection.forwardIn('127.0.0.1', 0, done))
  connection.end()
})

test('what a server answers reaches the terminal of the user as one line without control sequences', async () => {
  const why = '\u001b]52;c;cm0gLXJm\u0007a\u009b2Jb\u202e\r\nBerth: all is well'
  const one = await createSshServer({
    hostKey: host.privateKey,
    allowedKeys: () => Promise.resolve([client.publicKey]),
    openSftp: () => Promise.reject(new AppError('forbidden', { why })),
    onChange: () => undefined,
    log: silentLog,
  })
  const listening = await listenOnLoopback({ port: 0, onConnection: socket => one.accept(socket) })
  const connection = await open({ privateKey: client.privateKey, port: listening.port })
  const said = await new Promise<string>((resolve, reject) => {
    connection.subsys('sftp', (error, channel) => {
      if (error) reject(error)
      else resolve(text(channel.stderr))
      channel.resume()
    })
  })
  expect(said).toBe('Berth: Not allowed: ]52;c;cm0gLXJma2Jb Berth: all is well\r\n')
  connection.end()
  const closed = listening.close()
  one.close()
  await closed
})

test('bytes that are no SSH end their connection and no other', async () => {
  const connection = await open({ privateKey: client.privateKey })
  const socket = connect(listener.port, '127.0.0.1')
  socket.on('error', () => undefined).resume()
  const closed = new Promise(resolve => socket.once('close', resolve))
  socket.write(Buffer.concat([Buffer.from('SSH-2.0-x\r\n'), randomBytes(100_000)]))
  await closed
  expect((await echo(connection, Buffer.from('still here'))).toString()).toBe('still here')
  connection.end()
})

test('keys that we make are those of OpenSSH', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-keys-'))
  try {
    const path = join(directory, 'key')
    await writeFile(path, client.privateKey, { mode: 0o600 })
    const { stdout } = await promisify(execFile)('ssh-keygen', ['-y', '-f', path])
    expect(stdout.trim()).toBe(client.publicKey)
    expect(publicLineOf(parseOpensshKey(client.privateKey))).toBe(client.publicKey)
  } finally {
    await rm(directory, { recursive: true })
  }
})
