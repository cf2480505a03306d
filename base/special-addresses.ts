/**
 * Blocks of addresses that are not of the public internet, or lead elsewhere than they say. @see IANA IPv4 and IPv6 Special-Purpose Address
 * Registries (RFC 6890 and later entries)
 */
export type AddressBlock = readonly [address: string, bits: number]

export const SPECIAL_IPV4: readonly AddressBlock[] = [
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

/** Blocks of global unicast (2000::/3) that carry another address, Teredo and ORCHID (2001::/23) and 6to4, or are for documentation. */
export const SPECIAL_GLOBAL_IPV6: readonly AddressBlock[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]
