import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type AddressBlock, SPECIAL_GLOBAL_IPV6, SPECIAL_IPV4 } from '#base/special-addresses'
import { type Cidr, formatAddress } from './subnets.ts'

/** Only global unicast (2000::/3) is public. */
const SPECIAL_IPV6: readonly AddressBlock[] = [['::', 3], ['4000::', 2], ['8000::', 1], ...SPECIAL_GLOBAL_IPV6]

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
