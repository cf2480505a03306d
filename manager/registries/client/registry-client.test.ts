import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createRegistryClient } from './registry-client.ts'

test('an endless list of names is cut', async () => {
  let asked = 0
  const tags = Array.from({ length: 25_000 }, (_, i) => `${i}`.padStart(120, '0'))
  const page = JSON.stringify({ name: 'lab/python', tags })
  const server = createServer((_, response) => {
    response.setHeader('link', `</v2/lab/python/tags/list?n=100&last=${++asked}>; rel="next"`)
    response.end(page)
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const client = createRegistryClient({ url, architecture: 'amd64' })
  const read = async () => {
    let count = 0
    for await (const page of client.tags('lab/python', new AbortController().signal)) count += page.length
    return count
  }
  await expect(read()).rejects.toMatchObject({ code: 'registry_failed' })
  expect(asked).toBeLessThan(100)
})
