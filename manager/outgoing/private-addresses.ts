import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type AddressBlock, SPECIAL_GLOBAL_IPV6, SPECIAL_IPV4 } from '#base/special-addresses'

/** Special blocks of IPv6: besides those of global unicast, private networks, this machine, links, multicast, and IPv4 inside of IPv6. */
const V6: readonly AddressBlock[] = [
  ...SPECIAL_GLOBAL_IPV6,
  ['::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
]
const PRIVATE = new BlockList()
for (const [net, bits] of SPECIAL_IPV4) {
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
