import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { parseAppsAddress } from '#manager/contract'
import { watchAddress } from './watch-address.ts'

const log = { warn: () => undefined, info: () => undefined, error: () => undefined, debug: () => undefined } as never

async function portOf(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
const lookAt = async (address: string) =>
  (await watchAddress(parseAppsAddress(address), { log, proposal: null }).check()).fault

test('without an address there is nothing to try', () => {
  expect(watchAddress(undefined, { log, proposal: 'https://a.example.org:20000-20099' }).state()).toEqual({
    address: null,
    proposal: 'https://a.example.org:20000-20099',
    fault: null,
  })
})

test('the address is good where Berth answers by its name, and a fault says what a browser would find', async () => {
  const berth = await portOf((_, response) => void response.writeHead(204, { 'berth-apps': '1' }).end())
  const other = await portOf((_, response) => void response.end('hello'))
  expect(await lookAt(`http://127.0.0.1:${berth}-${berth}`)).toBeNull()
  const at = `http://127.0.0.1:${other}`
  expect(await lookAt(`${at}-${other}`)).toEqual({ code: 'not_berth', at })
  expect(await lookAt(`https://127.0.0.1:${berth}-${berth}`)).toMatchObject({ code: 'wrong_certificate' })
  expect(await lookAt('http://127.0.0.1:1024-1024')).toMatchObject({ code: 'unreachable' })
  expect(await lookAt('http://no-such-name.invalid:20000-20001')).toMatchObject({ code: 'no_name' })
})
