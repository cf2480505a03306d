import { type Device } from '#manager/contract'
import { type EngineLimits } from './docker/container-config.ts'

const GiB = 2 ** 30
/** Of the memory, kept for the host and for Berth; at least 1 GiB. */
const RESERVED_SHARE = 0.1

/** What sessions may use of this engine, in base units: everything but a reserve of memory. */
export function capacityOf(limits: EngineLimits, devices: readonly Device[]): Record<string, number> {
  const reserved = Math.max(GiB, Math.floor(limits.memBytes * RESERVED_SHARE))
  const count = (slot: Device['slot']) => devices.filter(device => device.slot === slot).length
  const gpus = count('cuda.device')
  const shared = count('cuda.shares')
  return {
    cpu: limits.cpus * 1000,
    mem: Math.max(0, limits.memBytes - reserved),
    ...(gpus > 0 ? { 'cuda.device': gpus } : {}),
    // One physical GPU is 1.00 share, in 1/100.
    ...(shared > 0 ? { 'cuda.shares': shared * 100 } : {}),
  }
}
