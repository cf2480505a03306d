import { type EngineLimits } from './docker/container-config.ts'

const GiB = 2 ** 30
/** Share of the memory reserved for the host and for Berth; the reserve is at least 1 GiB. */
const RESERVED_SHARE = 0.1

/** Capacity of this engine for sessions, in base units: everything but a reserve of memory. */
export function capacityOf(limits: EngineLimits): Record<string, number> {
  const reserved = Math.max(GiB, Math.floor(limits.memBytes * RESERVED_SHARE))
  return { cpu: limits.cpus * 1000, mem: Math.max(0, limits.memBytes - reserved) }
}
