import { type SampleWindow } from '../../stats/sample-ring.ts'

/**
 * Thresholds above which a session counts as busy, each a mean over the last minute. They are above the activity of an idle Jupyter, VS
 * Code or SSH connection, and far below that of people and programs. `docs/admin/lifetime.md` has the same numbers.
 */
export const BUSY = {
  /** 5 % of one core. */
  cpuMilli: 50,
  /** Percent, for any of its GPUs. */
  gpuUtilization: 2,
  diskBytesPerSecond: 64 * 1024,
  netBytesPerSecond: 4 * 1024,
  /** Bytes in that minute, per open tunnel; keep-alives of SSH and WebSocket are about 600 bytes. */
  tunnelBytes: 2 * 1024,
  /** Bytes of terminal output in that minute; keep-alives are below 100 bytes. */
  terminalBytes: 256,
} as const

/** Bytes that went through the tunnels of a session in the window, as this manager saw them. */
export interface TrafficWindow {
  readonly tunnels: number
  readonly tunnelBytes: number
  readonly terminals: number
  readonly terminalBytes: number
}

/** `unknown`: statistics are missing, so the idle time neither grows nor restarts. */
export type Verdict = 'busy' | 'idle' | 'unknown'

export interface Observation {
  /** Windows of statistics, one per kernel; undefined if they are missing, too old or too few for a verdict. */
  readonly kernels: readonly (SampleWindow | undefined)[]
  readonly traffic: TrafficWindow
}

/** Any activity makes a session busy. It is idle only if every kernel is known to do nothing. Pure. */
export function verdictOf({ kernels, traffic }: Observation): Verdict {
  if (hasTraffic(traffic) || kernels.some(window => window !== undefined && works(window))) return 'busy'
  return kernels.length > 0 && kernels.every(window => window !== undefined) ? 'idle' : 'unknown'
}

function works({ seconds, cpuMilli, gpuUtilization, diskBytes, netBytes }: SampleWindow): boolean {
  return (
    cpuMilli >= BUSY.cpuMilli ||
    gpuUtilization >= BUSY.gpuUtilization ||
    diskBytes >= BUSY.diskBytesPerSecond * seconds ||
    netBytes >= BUSY.netBytesPerSecond * seconds
  )
}

function hasTraffic({ tunnels, tunnelBytes, terminals, terminalBytes }: TrafficWindow): boolean {
  return (
    tunnelBytes >= BUSY.tunnelBytes * Math.max(1, tunnels) ||
    terminalBytes >= BUSY.terminalBytes * Math.max(1, terminals)
  )
}
