import { expect, test, vi } from 'vitest'
import { type SessionNetworks } from '../network/session-networks.ts'
import { type KernelRecord } from './kernel-record.ts'
import { createNetworkUse } from './network-use.ts'

const label = { kernelId: 'kernel', sessionId: 'session', managerId: 'manager' } as KernelRecord['label']

test('a network, and the addresses in it, is free only when nobody uses the address of the kernel any more', async () => {
  const order: string[] = []
  const released = Promise.withResolvers<undefined>()
  const networks = {
    remove: vi.fn(() => {
      order.push('removed')
      return Promise.resolve()
    }),
  } as unknown as SessionNetworks
  const release = async (kernelId: string) => {
    order.push(`release ${kernelId}`)
    await released.promise
    order.push('released')
  }
  const use = createNetworkUse({
    networks,
    clusters: { leave: () => Promise.resolve(), sweep: () => Promise.resolve() },
    reach: { leave: () => Promise.resolve() },
    members: () => [],
    isAhead: () => false,
    releaseAddress: release,
  })
  const leaving = use.leave(label)
  await new Promise(setImmediate)
  expect(order).toEqual(['release kernel'])
  released.resolve(undefined)
  await leaving
  expect(order).toEqual(['release kernel', 'released', 'removed'])
})
