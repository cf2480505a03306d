import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { measureDown, measureUp } from '../../bench/tunnel-load.ts'
import { startService, startTunnel } from '../../bench/tunnel-path.ts'

const MIB = 2 ** 20
const sum = (figures: { rss: number }[]) => figures.reduce((total, { rss }) => total + rss, 0)
/** Bytes that would accumulate in memory while the readers stall, if nothing slowed the sender down. */
const FLOOD = 256 * MIB
/** Buffers of the stalled streams, and variations of resident memory: a few MiB. */
const BOUND = 32 * MIB

const WAYS: readonly (readonly [string, string | undefined])[] = [
  ['through manager and agent', undefined],
  ['directly', 'the key of this berth up'],
]

test.each(WAYS)(
  '%s: memory of proxy, manager and agent stays constant while a reader stalls on an endless download',
  async (_way, key) => {
    using service = await startService()
    using tunnel = await startTunnel(service.port, key)
    // Code and buffers are loaded before anything is measured.
    const megabytesPerSecond = await measureDown(tunnel.port, 50_000_000)
    const before = sum(await tunnel.memory())
    const stalled = Array.from({ length: 10 }, () => connect({ port: tunnel.port, host: '127.0.0.1' }))
    for (const client of stalled) {
      client.on('error', () => undefined)
      await once(client, 'connect')
      client.write('D100000000000')
      client.pause()
    }
    await delay(1000)
    const filled = sum(await tunnel.memory())
    // As long as this machine needs for the flood, however busy it is.
    await delay(FLOOD / 1000 / megabytesPerSecond)
    const later = sum(await tunnel.memory())
    for (const client of stalled) client.destroy()
    expect(filled - before).toBeLessThan(BOUND)
    expect(later - filled).toBeLessThan(BOUND)
  },
)

test.each(WAYS)('%s: large transfers arrive whole in both directions through separate processes', async (_way, key) => {
  using service = await startService()
  using tunnel = await startTunnel(service.port, key)
  // Both throw if a byte is missing.
  const speeds = await Promise.all([measureDown(tunnel.port, 100_000_001), measureUp(tunnel.port, 100_000_001)])
  expect(Math.min(...speeds)).toBeGreaterThan(0)
})
