import { type NetworkInspectInfo } from 'dockerode'
import { expect, test } from 'vitest'
import { LABEL_MANAGER } from '#agent/contract'
import { judgeRoutes } from './engine-bridges.ts'
import { type Cidr, parseCidr } from './subnets.ts'

const cidr = (text: string): Cidr => parseCidr(text) ?? { base: 0, bits: 0 }
const route = (device: string, destination: string) => ({ device, destination: cidr(destination) })
const bridge = (name: string, Subnet: string, isOurs = false) =>
  ({
    Id: 'f00',
    Driver: 'bridge',
    IPAM: { Config: [{ Subnet }] },
    Options: { 'com.docker.network.bridge.name': name },
    Labels: isOurs ? { [LABEL_MANAGER]: 'm' } : {},
  }) as unknown as NetworkInspectInfo

const range = cidr('10.250.0.0/16')
const docker0 = [bridge('docker0', '172.17.0.0/16'), route('docker0', '172.17.0.0/16')] as const

test.each([
  ['a VPN that has a part of the range', route('tun0', '10.250.4.0/24'), 'tun0'],
  ['a network of another program on the engine', route('br-f00', '10.250.0.0/28'), 'br-f00'],
  ['a bridge of ours, listed or not yet', route('berth0123456789', '10.250.0.0/28'), undefined],
  ['the default route', route('eth0', '0.0.0.0/0'), undefined],
  ['a route beside the range', route('tun0', '10.251.0.0/16'), undefined],
])('%s', (_what, other, device) => {
  const judged = judgeRoutes(range, [docker0[0]], [docker0[1], other])
  expect([judged.isElsewhere, judged.conflict?.device]).toEqual([false, device])
})

test('a network of ours is known by its label, whatever its bridge is called', () => {
  const ours = bridge('custom0', '10.250.0.0/28', true)
  const routes = [docker0[1], route('custom0', '10.250.0.0/28')]
  expect(judgeRoutes(range, [docker0[0], ours], routes).conflict).toBeUndefined()
  expect(judgeRoutes(range, [docker0[0], bridge('custom0', '10.250.0.0/28')], routes).conflict).toBeDefined()
})

test('routes of another namespace than the bridges do not conflict', () => {
  const routes = [route('eth0', '10.250.0.0/16')]
  expect(judgeRoutes(range, [docker0[0]], routes)).toEqual({ isElsewhere: true, conflict: undefined })
  expect(judgeRoutes(range, [], routes)).toMatchObject({ isElsewhere: false, conflict: { device: 'eth0' } })
})

test('a network between hosts, which has no route here, says nothing about where the bridges are', () => {
  const joined = bridge('berthx420000', '10.212.0.0/28', true)
  const Options = { ...joined.Options, 'com.docker.network.bridge.inhibit_ipv4': 'true' }
  expect(judgeRoutes(range, [{ ...joined, Options }], [route('eth0', '192.168.7.0/24')]).isElsewhere).toBe(false)
})
