import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  allocateSubnet,
  areElsewhere,
  type Cidr,
  conflictingRoute,
  formatCidr,
  overlaps,
  parseCidr,
  parseRoutes,
} from './subnets.ts'

const cidr = (text: string): Cidr => parseCidr(text)!

test('CIDRs are parsed with their host bits cleared, and nonsense is refused', () => {
  expect(formatCidr(cidr('10.213.7.9/16'))).toBe('10.213.0.0/16')
  expect(formatCidr(cidr('255.255.255.255'))).toBe('255.255.255.255/32')
  for (const text of ['10.213.0.0/33', '10.256.0.0/16', 'fe80::/64', '10.0.0/8', ''])
    expect(parseCidr(text)).toBeUndefined()
})

test('sessions get the first free /28, whatever else is in the range', () => {
  const range = cidr('10.213.0.0/16')
  expect(formatCidr(allocateSubnet(range, [])!)).toBe('10.213.0.0/28')
  expect(formatCidr(allocateSubnet(range, [cidr('10.213.0.0/28'), cidr('10.213.0.32/28')])!)).toBe('10.213.0.16/28')
  expect(formatCidr(allocateSubnet(range, [cidr('10.213.0.0/24'), cidr('10.213.1.3/32')])!)).toBe('10.213.1.16/28')
})

test('a search from the middle of the range takes the part before it last', () => {
  const range = cidr('10.1.0.0/26')
  const taken = [cidr('10.1.0.32/28')]
  const from = (place: number, others: readonly Cidr[] = []) =>
    formatCidr(allocateSubnet(range, [...taken, ...others], place)!)
  expect([0, 0.3, 0.5, 0.99].map(place => from(place))).toEqual([
    '10.1.0.0/28',
    '10.1.0.16/28',
    '10.1.0.48/28',
    '10.1.0.48/28',
  ])
  expect(from(0.5, [cidr('10.1.0.48/28')])).toBe('10.1.0.0/28')
  expect(allocateSubnet(range, [cidr('10.1.0.0/16')], 0.5)).toBeUndefined()
})

test('a full range has no free network', () => {
  expect(allocateSubnet(cidr('10.1.0.0/27'), [cidr('10.1.0.0/28'), cidr('10.1.0.16/28')])).toBeUndefined()
  expect(allocateSubnet(cidr('10.1.0.0/16'), [cidr('10.0.0.0/8')])).toBeUndefined()
})

test('no two sessions ever share an address', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 22, max: 28 }), (count, bits) => {
      const range = { base: cidr('10.213.0.0/16').base, bits }
      const taken: Cidr[] = []
      for (let i = 0; i < count; i++) {
        const next = allocateSubnet(range, taken)
        if (!next) break
        expect(taken.some(other => overlaps(other, next))).toBe(false)
        expect(overlaps(range, next)).toBe(true)
        taken.push(next)
      }
      expect(taken.length).toBe(Math.min(count, 2 ** (28 - bits)))
    }),
  )
})

const ROUTES = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	010200C0	0003	0	0	0	00000000	0	0	0
docker0	000011AC	00000000	0001	0	0	0	0000FFFF	0	0	0
berth0123456789	0000D50A	00000000	0001	0	0	0	F0FFFFFF	0	0	0
tun0	0000D50A	00000000	0001	0	0	0	0000FFFF	0	0	0
`

test("the routes of the host are parsed from the kernel's table", () => {
  expect(parseRoutes(ROUTES).map(route => `${route.device} ${formatCidr(route.destination)}`)).toEqual([
    'eth0 0.0.0.0/0',
    'docker0 172.17.0.0/16',
    'berth0123456789 10.213.0.0/28',
    'tun0 10.213.0.0/16',
  ])
})

test('a VPN in the range is a conflict; our own bridges and the default route are not', () => {
  const routes = parseRoutes(ROUTES)
  const own = new Set(['berth0123456789'])
  expect(conflictingRoute(cidr('10.213.0.0/16'), routes, own)?.device).toBe('tun0')
  expect(conflictingRoute(cidr('10.214.0.0/16'), routes, own)).toBeUndefined()
  expect(conflictingRoute(cidr('172.17.5.0/24'), routes, own)?.device).toBe('docker0')
})

test('bridges that the routing table does not know are in another network namespace, whatever their names', () => {
  const routes = parseRoutes(ROUTES)
  const docker0 = { name: 'docker0', subnet: cidr('172.17.0.0/16') }
  expect(areElsewhere([docker0, { name: 'br-1', subnet: cidr('172.18.0.0/16') }], routes)).toBe(false)
  expect(areElsewhere([{ name: 'docker0', subnet: cidr('172.31.100.0/24') }], routes)).toBe(true)
  expect(areElsewhere([{ name: 'docker1', subnet: cidr('172.17.0.0/16') }], routes)).toBe(true)
  expect(areElsewhere([], routes)).toBe(false)
})
