import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type Cidr, formatAddress } from './subnets.ts'

/** Blocks that are not of the public internet. @see IANA special-purpose address registries (RFC 6890 and later entries) */
const SPECIAL_IPV4: readonly (readonly [string, number])[] = [
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
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]
/**
 * Only global unicast (2000::/3) is public. Of it, blocks that carry another address are left out too: Teredo and ORCHID (2001::/23),
 * documentation, 6to4.
 */
const SPECIAL_IPV6: readonly (readonly [string, number])[] = [
  ['::', 3],
  ['4000::', 2],
  ['8000::', 1],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

/**
 * Says which addresses the proxy of sessions may connect to: those of the public internet, without the addresses of this host and what the
 * administrator denies. The host's addresses are read for each question, because they change.
 *
 * @param denied CIDRs that sessions may not reach
 */
export function createPublicAddresses(denied: readonly Cidr[]): (address: string) => boolean {
  // Two lists: one alone would take every IPv4 address for one of ::ffff:0:0/96.
  const [ipv4, ipv6] = [new BlockList(), new BlockList()]
  for (const [base, bits] of SPECIAL_IPV4) ipv4.addSubnet(base, bits, 'ipv4')
  for (const [base, bits] of SPECIAL_IPV6) ipv6.addSubnet(base, bits, 'ipv6')
  for (const { base, bits } of denied) ipv4.addSubnet(formatAddress(base), bits, 'ipv4')
  return address => {
    const version = isIP(address)
    if (version === 0 || (version === 4 ? ipv4.check(address) : ipv6.check(address, 'ipv6'))) return false
    return !Object.values(networkInterfaces()).some(all => all?.some(own => own.address === address))
  }
}
