/**
 * Keys under which limits count an address, narrowest network first: an IPv4 address by itself; of IPv6 the /64 of one network, the /56
 * that a household gets and the /48 that a company or a rented computer gets, because their holders choose freely among the
 * networks within. An IPv4 address in an IPv6 one, or translated into one (RFC 6052), counts by itself.
 */
export function networksOf(address: string): readonly [string, ...string[]] {
  const inner = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (inner !== undefined) return [inner]
  if (!address.includes(':') || address.startsWith('64:ff9b::')) return [address]
  const [head = '', tail] = address.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0')
  const groups = tail === undefined ? before : [...before, ...zeros, ...after]
  const [a = 0, b = 0, c = 0, d = 0] = groups.slice(0, 4).map(group => Number.parseInt(group, 16))
  const name = (...parts: number[]) => parts.map(part => part.toString(16)).join(':')
  return [`${name(a, b, c, d)}::/64`, `${name(a, b, c, d & 0xff00)}::/56`, `${name(a, b, c)}::/48`]
}

/**
 * Limit of each of `networksOf`, as a multiple of the limit of one address or /64: many people may share a wide network, but one stranger
 * may also have all of it.
 */
export const WIDER_LIMITS = [1, 4, 16] as const
