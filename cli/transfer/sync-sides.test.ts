import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { type Connection } from '../config/connect.ts'
import { type RemoteDeps, remoteSide } from './sync-sides.ts'

test('checksums that never end are given up', async () => {
  // A line that a program without a limit would hold, and take for a file without a checksum.
  const line = Buffer.alloc(80 * 1024 * 1024, 'x')
  const server = createServer((request, response) => {
    request.resume()
    response.on('error', () => undefined).end(line)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const connection = { endpoint, credentials: () => Promise.resolve({}) } as unknown as Connection
    const folderId = '01900000-0000-7000-8000-000000000001' as RemoteDeps['folderId']
    const side = remoteSide({ connection, folderId, signal: new AbortController().signal }, '')
    await expect(side.checksums([['data']])).rejects.toMatchObject({ detail: { cause: 'not_a_manager_there' } })
  } finally {
    server.close().closeAllConnections()
  }
})
