import { expect, test } from 'vitest'
import { networksOf } from './network-of.ts'

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['64:ff9b::cb00:7107', '64:ff9b::cb00:7107'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2:ffff::1', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002::', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['unknown', 'unknown'],
])('%s counts for the network %s', (address, network) => {
  expect(networksOf(address)[0]).toBe(network)
})

test('an address of IPv6 counts for the wider networks too, which one holder has whole', () => {
  const networks = ['2001:db8:1:23ff::/64', '2001:db8:1:2300::/56', '2001:db8:1::/48']
  expect(networksOf('2001:db8:1:23ff::1')).toEqual(networks)
  expect(networksOf('2001:db8:1:2301::1').slice(1)).toEqual(networks.slice(1))
  expect(networksOf('203.0.113.7')).toHaveLength(1)
})
