import { KeyObject } from 'node:crypto'
import { once } from 'node:events'
import ssh2 from 'ssh2'
import { expect, test } from 'vitest'
import { listenOnLoopback } from '../listeners/loopback-listener.ts'
import { newKeyPair } from '../ssh/openssh-key.ts'
import { keepPacketKeys } from './packet-keys.ts'
import { FAST_CIPHER } from './ssh-server.ts'

const CIPHERS = [FAST_CIPHER, 'aes256-gcm@openssh.com', 'aes128-ctr'] as const

test.each(CIPHERS)('ssh2 reads and writes packets of %s after each exchange of keys', async cipher => {
  const algorithms = { cipher: [cipher] }
  let connection: ssh2.Connection | undefined
  let exchanges = 0
  const server = new ssh2.Server({ hostKeys: [newKeyPair('host').privateKey], algorithms }, client => {
    connection = client
    client.on('error', () => undefined)
    client.on('authentication', context => context.accept())
    client.on('handshake', () => {
      exchanges++
      keepPacketKeys(client)
    })
    client.on('session', accept =>
      accept().on('exec', acceptExec => {
        const channel = acceptExec()
        channel.pipe(channel)
      }),
    )
  })
  const listener = await listenOnLoopback({ port: 0, onConnection: socket => server.injectSocket(socket) })
  const client = new ssh2.Client()
  client.connect({ host: '127.0.0.1', port: listener.port, username: 'work', password: 'x', algorithms })
  await once(client, 'ready')

  async function echo(text: string): Promise<string> {
    const channel = await new Promise<ssh2.ClientChannel>((resolve, reject) =>
      client.exec('echo', (error, opened) => (error ? reject(error) : resolve(opened))),
    )
    channel.write(text)
    const [answer] = (await once(channel, 'data')) as [Buffer]
    channel.close()
    return answer.toString()
  }
  expect(await echo('before')).toBe('before')
  await new Promise<void>(resolve => (connection as unknown as ssh2.Connection).rekey(() => resolve()))
  expect(await echo('after')).toBe('after')
  expect(exchanges).toBe(2)

  // Where the cipher is one for all packets, its key is used only once.
  if (cipher !== 'aes128-ctr') {
    const { _cipher, _decipher } = (connection as unknown as { _protocol: Record<string, Record<string, unknown>> })
      ._protocol
    expect(_cipher?._encKey).toBeInstanceOf(KeyObject)
    expect(_decipher?._decipherKey).toBeInstanceOf(KeyObject)
  }
  client.end()
  await listener.close()
})

test('a connection without such fields is left alone', () => {
  for (const other of [{}, { _protocol: null }, { _protocol: { _cipher: { _encKey: 'text' } } }]) {
    const before = structuredClone(other)
    keepPacketKeys(other)
    expect(other).toEqual(before)
  }
})
