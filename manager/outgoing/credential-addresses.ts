import { BlockList, isIP } from 'node:net'

/**
 * Addresses at which clouds provide a machine's credentials to every program on it: all link-local ones (AWS, Azure, Google and others:
 * 169.254.169.254), and those of AWS and Google over IPv6, of Alibaba, and of Oracle. An IPv4 address in an IPv6 one counts too.
 */
const ADDRESSES = new BlockList()
ADDRESSES.addSubnet('169.254.0.0', 16, 'ipv4')
ADDRESSES.addAddress('100.100.100.200', 'ipv4')
ADDRESSES.addAddress('192.0.0.192', 'ipv4')
ADDRESSES.addSubnet('fe80::', 10, 'ipv6')
ADDRESSES.addAddress('fd00:ec2::254', 'ipv6')
ADDRESSES.addAddress('fd20:ce::254', 'ipv6')
// The link-local range as translated by NAT64. RFC 6052
ADDRESSES.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6')

/** Whether the host of a URL is one of these addresses. False for a name, whose addresses are checked when it is looked up. */
export function isCredentialAddress(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '').replace(/%.*$/, '')
  const version = isIP(address)
  return version !== 0 && ADDRESSES.check(address, version === 4 ? 'ipv4' : 'ipv6')
}
