import { readKernelText } from '../read-kernel-text.ts'

/** Counters of one container at one moment. */
export interface Counters {
  readonly atMs: number
  readonly cpuNanos: number
  readonly memBytes: number
  readonly memPeakBytes: number
  readonly netRxBytes: number
  readonly netTxBytes: number
  readonly diskReadBytes: number
  readonly diskWriteBytes: number
}

/** Paths of the files of a container's control group. @see cgroups(7) */
export type CgroupPaths =
  | { readonly version: 1; readonly cpuacct: string; readonly memory: string; readonly blkio: string }
  | { readonly version: 2; readonly unified: string }

const ROOT = '/sys/fs/cgroup'

/**
 * @param text of /proc/PID/cgroup: `id:controllers:path` per line; version 2 is the line `0::path`. A host with both ("hybrid")
 * enforces limits by version 1
 *
 * @returns undefined if the group is not that of the container: then the process does not belong to this host
 */
export function cgroupPaths(text: string, containerId: string): CgroupPaths | undefined {
  const groups = new Map<string, string>()
  for (const line of text.trim().split('\n')) {
    const match = /^\d+:([^:]*):(\/.*)$/.exec(line)
    for (const controller of match?.[1]?.split(',') ?? []) groups.set(controller, match?.[2] ?? '')
  }
  const of = (controller: string) => {
    const path = groups.get(controller)
    return path?.includes(containerId) ? `${ROOT}/${controller}${path}` : undefined
  }
  const [cpuacct, memory, blkio] = [of('cpuacct'), of('memory'), of('blkio')]
  if (cpuacct !== undefined && memory !== undefined && blkio !== undefined)
    return { version: 1, cpuacct, memory, blkio }
  const unified = of('')
  return unified === undefined ? undefined : { version: 2, unified: unified.replace(`${ROOT}//`, `${ROOT}/`) }
}

type CgroupCounters = Omit<Counters, 'atMs' | 'netRxBytes' | 'netTxBytes'>

/** @param files contents by file name; a missing one is '' */
export function parseV1(files: Readonly<Record<string, string>>): CgroupCounters {
  const used = numberIn(files['memory.usage_in_bytes'])
  const blkio = files['blkio.throttle.io_service_bytes'] ?? ''
  return {
    cpuNanos: numberIn(files['cpuacct.usage']),
    memBytes: Math.max(0, used - field(files['memory.stat'], 'total_inactive_file')),
    memPeakBytes: numberIn(files['memory.max_usage_in_bytes']),
    diskReadBytes: sumOf(blkio, /^\d+:\d+ Read (\d+)$/gm),
    diskWriteBytes: sumOf(blkio, /^\d+:\d+ Write (\d+)$/gm),
  }
}

export function parseV2(files: Readonly<Record<string, string>>): CgroupCounters {
  const used = numberIn(files['memory.current'])
  const io = files['io.stat'] ?? ''
  return {
    cpuNanos: field(files['cpu.stat'], 'usage_usec') * 1000,
    memBytes: Math.max(0, used - field(files['memory.stat'], 'inactive_file')),
    // memory.peak exists since Linux 5.19; on older kernels, the current use is the best available figure.
    memPeakBytes: numberIn(files['memory.peak']) || used,
    diskReadBytes: sumOf(io, /\brbytes=(\d+)/g),
    diskWriteBytes: sumOf(io, /\bwbytes=(\d+)/g),
  }
}

/** @param text of /proc/PID/net/dev; the loopback does not count */
export function parseNetDev(text: string): { netRxBytes: number; netTxBytes: number } {
  let netRxBytes = 0
  let netTxBytes = 0
  for (const [, device, figures = ''] of text.matchAll(/^[ \t]*([^\s:]+):[ \t]*(.+)$/gm)) {
    if (device === 'lo') continue
    const columns = figures.trim().split(/\s+/).map(Number)
    netRxBytes += columns[0] ?? 0
    netTxBytes += columns[8] ?? 0
  }
  return { netRxBytes, netTxBytes }
}

const FILES = {
  1: {
    cpuacct: ['cpuacct.usage'],
    memory: ['memory.usage_in_bytes', 'memory.max_usage_in_bytes', 'memory.stat'],
    blkio: ['blkio.throttle.io_service_bytes'],
  },
  2: ['cpu.stat', 'memory.current', 'memory.peak', 'memory.stat', 'io.stat'],
} as const

/** Reads the counters of a container by its main process. @returns undefined if that is not a process of this host, or has ended */
export function readCounters(pid: number, containerId: string): Counters | undefined {
  if (pid === 0) return undefined
  const paths = cgroupPaths(readKernelText(`/proc/${pid}/cgroup`), containerId)
  if (!paths) return undefined
  const list =
    paths.version === 2
      ? FILES[2].map(name => [name, `${paths.unified}/${name}`] as const)
      : (['cpuacct', 'memory', 'blkio'] as const).flatMap(controller =>
          FILES[1][controller].map(name => [name, `${paths[controller]}/${name}`] as const),
        )
  const files = Object.fromEntries(list.map(([name, path]) => [name, readKernelText(path)]))
  return {
    atMs: performance.now(),
    ...(paths.version === 2 ? parseV2(files) : parseV1(files)),
    ...parseNetDev(readKernelText(`/proc/${pid}/net/dev`)),
  }
}

function numberIn(text = ''): number {
  const number = Number(text.trim())
  return Number.isFinite(number) ? number : 0
}

function field(text = '', name: string): number {
  const match = new RegExp(`^${name} (\\d+)$`, 'm').exec(text)
  return Number(match?.[1] ?? 0)
}

function sumOf(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].reduce((sum, match) => sum + Number(match[1]), 0)
}
