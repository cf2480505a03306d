import { expect, test } from 'vitest'
import { addressCounts } from './back-off.ts'

test.each(['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1'])(
  '%s stands for everybody on this computer, and is not counted',
  address => {
    expect(addressCounts('address', address, 20)).toEqual([])
  },
)

test('other addresses are counted by their network', () => {
  expect(addressCounts('address', '2001:db8::1', 20)).toEqual([
    { key: 'address:2001:db8:0:0::/64', from: 20 },
    { key: 'address:2001:db8:0:0::/56', from: 80 },
    { key: 'address:2001:db8:0::/48', from: 320 },
  ])
  expect(addressCounts('address', '::ffff:10.0.0.1', 20)).toHaveLength(1)
})
