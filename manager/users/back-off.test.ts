import { expect, test } from 'vitest'
import { addressCounts, networkOf } from './back-off.ts'

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '::ffff:203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2:ffff::1', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002::', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['unknown', 'unknown'],
])('attempts from %s count for the network %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

test.each(['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1'])(
  '%s stands for everybody on this computer, and is not counted',
  address => {
    expect(addressCounts('address', address, 20)).toEqual([])
  },
)

test('other addresses are counted by their network', () => {
  expect(addressCounts('address', '2001:db8::1', 20)).toEqual([{ key: 'address:2001:db8:0:0::/64', from: 20 }])
  expect(addressCounts('address', '::ffff:10.0.0.1', 20)).toHaveLength(1)
})
