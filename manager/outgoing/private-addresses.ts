import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'

/**
 * Addresses that are not of the public Internet, or that lead elsewhere than they say: private networks, this machine, links, tests,
 * multicast, and IPv4 addresses inside of IPv6 ones that are not checked as such.
 *
 * @see IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890)
 */
const V4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
]
const V6: readonly (readonly [string, number])[] = [
  ['::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
]
const PRIVATE = new BlockList()
for (const [net, bits] of V4) {
  PRIVATE.addSubnet(net, bits, 'ipv4')
  // The same address as translated by NAT64, whose prefix is 96 bits. RFC 6052
  PRIVATE.addSubnet(`64:ff9b::${net}`, 96 + bits, 'ipv6')
}
for (const [net, bits] of V6) PRIVATE.addSubnet(net, bits, 'ipv6')

/** Whether the host of a URL is such an address. False for a name, whose addresses are checked when it is looked up. */
export const isPrivateAddress = (host: string): boolean => isIn(PRIVATE, host)

/**
 * Whether the host of a URL is an address of this machine, be it public: what leads there from here passes no firewall in front of the
 * machine. Addresses are read each time, because they change.
 */
export function isOwnAddress(host: string): boolean {
  const own = new BlockList()
  for (const { address, family } of Object.values(networkInterfaces()).flatMap(all => all ?? []))
    own.addAddress(address, family === 'IPv4' ? 'ipv4' : 'ipv6')
  return isIn(own, host)
}

function isIn(list: BlockList, host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '').replace(/%.*$/, '')
  const version = isIP(address)
  return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6')
}
