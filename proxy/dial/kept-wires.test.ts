import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { type TunnelEnd } from '#manager/tunnel-end'
import { createKeptWires } from './kept-wires.ts'

afterEach(() => vi.useRealTimers())

async function aClient(): Promise<Socket> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  server.close()
  return socket
}

/** An idle wire that records all calls; `answer` is the answer of its agent. */
function aWire(answer?: boolean) {
  const said: string[] = []
  const settle: ((isConnected: boolean) => void)[] = []
  const end = {
    next: () => (said.push('next'), answer ?? true),
    nextIfAnswered(_client: Socket, answered: (isConnected: boolean) => void) {
      said.push('ask')
      if (answer === undefined) settle.push(answered)
      else answered(answer)
    },
    close(reason: string) {
      said.push(`close ${reason}`)
      for (const answered of settle.splice(0)) answered(false)
    },
    outcomeOfThis: () => ({ reason: 'done', connected: true }),
  }
  return { end: end as unknown as TunnelEnd, said }
}

test('a wire that carried bytes a moment ago is used at once; one that has rested is asked first', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] })
  using kept = createKeptWires()
  for (const [restMs, word] of [
    [0, 'next'],
    [1_500, 'ask'],
  ] as const) {
    const client = await aClient()
    const wire = aWire(true)
    kept.keep(wire.end)
    vi.advanceTimersByTime(restMs)
    const carried = kept.carry(client)
    await expect.poll(() => wire.said).toEqual([word])
    client.destroy()
    expect(await carried).toEqual({ reason: 'done', connected: true })
  }
})

test('a wire that does not answer, or whose client leaves, is closed, and the others with it', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] })
  using kept = createKeptWires()
  for (const end of [() => void vi.advanceTimersByTime(2_000), (client: Socket) => void client.destroy()]) {
    const [other, silent] = [aWire(), aWire()]
    kept.keep(other.end)
    kept.keep(silent.end)
    vi.advanceTimersByTime(1_500)
    const client = await aClient()
    const carried = kept.carry(client)
    end(client)
    expect(await carried).toBeUndefined()
    expect(silent.said).toEqual(['ask', 'close done'])
    expect(other.said).toEqual(['close done'])
    client.destroy()
  }
})

test('wires are closed after ten seconds, above 32, after a sleep of the computer, and with the listener', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] })
  using kept = createKeptWires()
  const idle = aWire()
  kept.keep(idle.end)
  vi.advanceTimersByTime(10_000)
  expect(idle.said).toEqual(['close done'])

  const wires = Array.from({ length: 33 }, () => aWire())
  for (const { end } of wires) kept.keep(end)
  expect(wires.filter(({ said }) => said.length > 0)).toEqual([wires[32]])

  vi.setSystemTime(Date.now() + 3_600_000)
  const client = await aClient()
  expect(await kept.carry(client)).toBeUndefined()
  client.destroy()
  expect(wires.filter(({ said }) => said.length === 0)).toEqual([])

  kept[Symbol.dispose]()
  const late = aWire()
  kept.keep(late.end)
  expect(late.said).toEqual(['close done'])
})

test('a wire that is kept twice has one time limit', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] })
  using kept = createKeptWires()
  const wire = aWire(true)
  kept.keep(wire.end)
  vi.advanceTimersByTime(500)
  kept.keep(wire.end)
  const client = await aClient()
  const carried = kept.carry(client)
  vi.advanceTimersByTime(30_000)
  expect(wire.said).toEqual(['next'])
  client.destroy()
  await carried
})

test('a client that has left takes no wire', async () => {
  using kept = createKeptWires()
  const wire = aWire(true)
  kept.keep(wire.end)
  const client = await aClient()
  client.destroy()
  expect(await kept.carry(client)).toBeUndefined()
  expect(wire.said).toEqual([])
})
