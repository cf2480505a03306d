import { type EngineLimits } from './docker/container-config.ts'

const GiB = 2 ** 30
/** Of the memory, kept for the host and for Berth; at least 1 GiB. */
const RESERVED_SHARE = 0.1

/** What sessions may use of this engine, in base units: everything but a reserve of memory. */
export function capacityOf(limits: EngineLimits): Record<string, number> {
  const reserved = Math.max(GiB, Math.floor(limits.memBytes * RESERVED_SHARE))
  return { cpu: limits.cpus * 1000, mem: Math.max(0, limits.memBytes - reserved) }
}
