import { type MeasuredSums } from '../store/quotas/held-parts.ts'

/** Unused part of a held amount, 0 to 1; null if none of it was measured. Pure. */
export function idlePart(used: number, measured: number): number | null {
  if (measured <= 0) return null
  return rounded(Math.min(1, Math.max(0, 1 - used / measured)))
}

/** The unused parts of the resources that sessions held. Pure. */
export function idleParts(
  row: MeasuredSums & { readonly cpu_used_seconds: number; readonly cpu_measured_seconds: number },
) {
  return {
    cpuIdle: idlePart(row.cpu_used_seconds, row.cpu_measured_seconds),
    gpuIdle: idlePart(row.gpu_used_seconds, row.gpu_measured_seconds),
    memIdle: idlePart(row.mem_used_byte_seconds, row.mem_measured_byte_seconds),
  }
}

const rounded = (value: number) => Math.round(value * 1000) / 1000
