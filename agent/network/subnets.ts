/** A block of IPv4 addresses. This file is IPv4 arithmetic on plain numbers; pure. */
export interface Cidr {
  /** First address as an unsigned 32-bit number. */
  readonly base: number
  readonly bits: number
}

/** @returns undefined for text that is not an IPv4 CIDR; host bits are cleared; an address without prefix length is a /32 */
export function parseCidr(text: string): Cidr | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?:\/(\d{1,2}))?$/.exec(text)
  if (!match) return undefined
  const octets = match.slice(1, 5).map(Number)
  const bits = match[5] === undefined ? 32 : Number(match[5])
  if (octets.some(octet => octet > 255) || bits > 32) return undefined
  const address = octets.reduce((sum, octet) => sum * 256 + octet, 0)
  return { base: address - (address % sizeOf(bits)), bits }
}

export function formatCidr(cidr: Cidr): string {
  return `${formatAddress(cidr.base)}/${cidr.bits}`
}

export function formatAddress(address: number): string {
  return [24, 16, 8, 0].map(shift => Math.floor(address / 2 ** shift) % 256).join('.')
}

export function overlaps(a: Cidr, b: Cidr): boolean {
  return a.base < b.base + sizeOf(b.bits) && b.base < a.base + sizeOf(a.bits)
}

/** Number of addresses in a block of this prefix length. */
function sizeOf(bits: number): number {
  return 2 ** (32 - bits)
}

/** A /28 has 13 addresses for kernels: 16 less network, broadcast and the bridge itself. */
export const SESSION_BITS = 28

/**
 * The first free /28 of the range; the gateway is its first address.
 * @param taken every subnet in use on the engine, ours or not
 * @param from start of the search in the range, 0 to 1 (exclusive); the part before it is searched last
 * @returns undefined when the range is full
 */
export function allocateSubnet(range: Cidr, taken: readonly Cidr[], from = 0): Cidr | undefined {
  const inside = taken.filter(cidr => overlaps(cidr, range))
  const step = sizeOf(SESSION_BITS)
  const start = range.base + Math.floor((from * sizeOf(range.bits)) / step) * step
  return firstFree(start, range, inside) ?? (start > range.base ? firstFree(range.base, range, inside) : undefined)
}

function firstFree(start: number, range: Cidr, inside: readonly Cidr[]): Cidr | undefined {
  const step = sizeOf(SESSION_BITS)
  let base = start
  while (base + step <= range.base + sizeOf(range.bits)) {
    const candidate = { base, bits: SESSION_BITS }
    const blocker = inside.find(cidr => overlaps(cidr, candidate))
    if (!blocker) return candidate
    // Continue behind the blocking subnet, on the next boundary: a large one must not cost a step per /28.
    const behind = blocker.base + sizeOf(blocker.bits)
    base = Math.max(base + step, Math.ceil(behind / step) * step)
  }
  return undefined
}

/** Whether the range has at least this many free /28. @param taken as in `allocateSubnet` */
export function hasRoomFor(count: number, range: Cidr, taken: readonly Cidr[]): boolean {
  const all = [...taken]
  for (let found = 0; found < count; found++) {
    const subnet = allocateSubnet(range, all)
    if (!subnet) return false
    all.push(subnet)
  }
  return true
}

export interface Route {
  readonly destination: Cidr
  readonly device: string
}

/** @param text of /proc/net/route: hexadecimal in host byte order (little-endian on every platform Berth runs on) */
export function parseRoutes(text: string): Route[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap(line => {
      const [device, destination, , , , , , mask] = line.trim().split(/\s+/)
      if (!device || destination === undefined || mask === undefined) return []
      const bits = swap(mask).toString(2).replace(/[^1]/g, '').length
      return [{ device, destination: { base: swap(destination), bits } }]
    })
}

function swap(hex: string): number {
  return Number.parseInt((hex.match(/../g) ?? []).toReversed().join(''), 16)
}

export interface Bridge {
  /** Name of the bridge's interface. */
  readonly name: string
  readonly subnet: Cidr
}

/**
 * Whether the engine's bridges are in another network namespace than these routes: then none of the bridges is in the table.
 * False if the engine has no bridge. The names alone prove nothing: every engine calls its first bridge docker0.
 */
export function areElsewhere(bridges: readonly Bridge[], routes: readonly Route[]): boolean {
  const isHere = ({ name, subnet }: Bridge) =>
    routes.some(
      ({ device, destination }) =>
        device === name && destination.base === subnet.base && destination.bits === subnet.bits,
    )
  return bridges.length > 0 && !bridges.some(isHere)
}

/** The route that makes the range unusable; the default route and bridges of our own sessions do not count. */
export function conflictingRoute(
  range: Cidr,
  routes: readonly Route[],
  ownBridges: ReadonlySet<string>,
): Route | undefined {
  return routes.find(
    route => route.destination.bits > 0 && !ownBridges.has(route.device) && overlaps(route.destination, range),
  )
}
