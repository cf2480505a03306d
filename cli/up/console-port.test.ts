import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findConsolePort } from './console-port.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-port-'))
})
afterEach(() => rm(directory, { recursive: true }))

test('the usual port is taken if it is free', async () => {
  expect(await findConsolePort(directory, 8400, () => Promise.resolve(true))).toMatchObject({ port: 8400 })
})

test('beside another Berth it is another one, and the same at the next start', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const usual = (other.address() as AddressInfo).port
  const first = await findConsolePort(directory, usual)
  expect(first.port).toBe(0)
  await first.keep(54_321)
  expect(await findConsolePort(directory, usual, port => Promise.resolve(port !== usual))).toMatchObject({
    port: 54_321,
  })
  // The stored port is taken now, and the usual one is free again.
  expect(await findConsolePort(directory, usual, port => Promise.resolve(port === usual))).toMatchObject({
    port: usual,
  })
  other.close()
})

test.each(['127.0.0.1', '::1'])('a port that another program has at %s only is not free', async host => {
  const other = createServer().listen(0, host)
  await once(other, 'listening')
  const usual = (other.address() as AddressInfo).port
  expect(await findConsolePort(directory, usual)).toMatchObject({ port: 0 })
  other.close()
  await once(other, 'close')
  expect(await findConsolePort(directory, usual)).toMatchObject({ port: usual })
})

test('a file that is damaged counts for nothing', async () => {
  await writeFile(join(directory, 'console-port'), '22\n')
  expect(await findConsolePort(directory, 8400, () => Promise.resolve(true))).toMatchObject({ port: 8400 })
})
