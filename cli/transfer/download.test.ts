import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { downloadFile, type DownloadSource } from './download.ts'

test('a server that sends more than it named does not fill the disk', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-download-'))
  const part = Buffer.alloc(64 * 1024)
  const most = 1024
  let parts = 0
  const server = createServer((_request, response) => {
    const endless = Readable.from(
      (function* () {
        for (; parts < most; parts++) yield part
      })(),
    )
    endless.pipe(response).on('error', () => undefined)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  try {
    let bytes = 0
    const source: DownloadSource = {
      connection: {
        endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        credentials: () => Promise.resolve({}),
      } as unknown as DownloadSource['connection'],
      folderId: 'f' as DownloadSource['folderId'],
      signal: new AbortController().signal,
      onBytes: count => void (bytes += count),
      onPause: error => expect.unreachable(error.message),
    }
    const remote = { path: 'a', size: 10, modifiedAt: '2026-01-01T00:00:00.000Z', etag: '"1"', executable: false }
    await expect(downloadFile(source, remote, { directory, name: 'a' })).rejects.toMatchObject({ code: 'file_changed' })
    expect(bytes).toBeLessThanOrEqual(remote.size)
    expect(parts).toBeLessThan(most)
    expect(await readdir(directory)).not.toContain('a')
  } finally {
    server.close().closeAllConnections()
    await rm(directory, { recursive: true })
  }
})
