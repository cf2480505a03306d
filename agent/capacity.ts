import { readFile } from 'node:fs/promises'
import { type EngineLimits } from './docker/container-config.ts'

const GiB = 2 ** 30
/** Share of the memory reserved for the host and for Berth; the reserve is at least 1 GiB. */
const RESERVED_SHARE = 0.1

/** Capacity of this engine for sessions, in base units: everything but a reserve of memory. */
export function capacityOf(limits: EngineLimits): Record<string, number> {
  const reserved = Math.max(GiB, Math.floor(limits.memBytes * RESERVED_SHARE))
  return { cpu: limits.cpus * 1000, mem: Math.max(0, limits.memBytes - reserved) }
}

/** Number of cores of this machine; undefined unless they are numbered from 0 without gaps. */
export async function localCores(): Promise<number | undefined> {
  const online = (await readFile('/sys/devices/system/cpu/online', 'utf8').catch(() => '')).trim()
  const match = /^0(?:-(\d+))?$/.exec(online)
  return match ? Number(match[1] ?? 0) + 1 : undefined
}
