import { once } from 'node:events'
import { type ReadStream } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createEngineClient } from '../docker/engine-client.ts'
import { loadArchive } from './load-archive.ts'

test.each([
  ['before the engine answers', ''],
  ['while the engine tells of its progress', '{"stream":"Loading"}\n'],
])('a file that cannot be read to its end, %s, ends the upload with the reason', async (_when, progress) => {
  await using engine = createServer().listen(0, '127.0.0.1')
  await once(engine, 'listening')
  const { streams } = createEngineClient(`tcp://127.0.0.1:${(engine.address() as AddressInfo).port}`)
  const closed = once(engine, 'request').then(async arrived => {
    const [request, response] = arrived as [IncomingMessage, ServerResponse]
    if (progress !== '') response.write(progress)
    request.resume()
    await new Promise(ended => request.socket.once('close', ended))
  })
  /** The disk fails once the engine has answered, or has got the first part. */
  const loadImage = async (archive: ReadStream, options: object) => {
    const fail = () => archive.destroy(new Error('EIO: i/o error, read'))
    if (progress === '') archive.once('data', () => setImmediate(fail))
    const told = await streams.loadImage(archive, options)
    told.once('data', fail)
    return told
  }
  // An archive without an end.
  const loading = loadArchive({ streams: { loadImage } } as never, '/dev/zero')
  await expect(loading).rejects.toThrow('EIO')
  await closed
})
