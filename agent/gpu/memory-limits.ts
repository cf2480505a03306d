import { execFile } from 'node:child_process'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Because, because } from '#manager/contract'

const run = promisify(execFile)
const TIMEOUT_MS = 10_000
const MiB = 2 ** 20
/** Tolerated rounding. Drivers round up to their own step; NVIDIA's own example sets 4000 MiB and reads 4096. */
const ROUNDING_MIB = 256

/** Limits of GPU memory that apply to all processes of a container together, and that none of them can change. */
export interface MemoryLimits {
  /** Null if driver and kernel support the limits; otherwise the reason why not. */
  missing(): Promise<Because | null>
  /** Limits the whole control group of this process. @throws if the limit was not set, or more is in use already */
  set(pid: number, uuid: string, bytes: number): Promise<void>
}

export interface NvidiaLimitsOptions {
  readonly program?: string
  readonly cgroupRoot?: string
  readonly procDirectory?: string
}

/**
 * Limits by `nvidia-smi memory-limits` (driver R615 and newer): the driver counts the memory of each control group, and refuses an
 * allocation beyond the limit. Only root of the host may set limits. The soft limit stays 0: it is a reservation among control groups,
 * which Docker would not release when it removes a group. docs/adr/0014-gpu-parts.md lists the alternatives, and why they do not work as
 * limits.
 */
export function createNvidiaLimits({
  program = 'nvidia-smi',
  cgroupRoot = '/sys/fs/cgroup',
  procDirectory = '/proc',
}: NvidiaLimitsOptions = {}): MemoryLimits {
  const ask = async (...args: string[]) =>
    (await run(program, ['memory-limits', ...args], { timeout: TIMEOUT_MS, killSignal: 'SIGKILL' })).stdout

  return {
    async missing() {
      const isUnified = await access(join(cgroupRoot, 'cgroup.controllers')).then(
        () => true,
        () => false,
      )
      if (!isUnified) return because('limits_need_cgroups_2')
      return ask('--help').then(
        () => null,
        () => because('limits_need_driver'),
      )
    },
    async set(pid, uuid, bytes) {
      const limit = Math.floor(bytes / MiB)
      const groups = await readFile(join(procDirectory, String(pid), 'cgroup'), 'utf8')
      const path = /^0::(\/.*)$/m.exec(groups)?.[1]
      // The root group contains every process of the host.
      if (path === undefined || path === '/') throw new Error('the container has no cgroup of its own')
      const where = ['--namespace', join(cgroupRoot, path), '-i', uuid]
      await ask('--set', ...where, '--soft-limit', '0', '--hard-limit', String(limit))
      const now = parseMemoryLimits(await ask('--get', ...where))
      if (now.hard === undefined || now.hard >= limit + ROUNDING_MIB)
        throw new Error(`the driver accepted ${limit} MiB but reports ${now.hard ?? 'no limit'}`)
      if (now.used !== undefined && now.used > limit) throw new Error(`${now.used} MiB are already in use`)
    },
  }
}

/** Sizes in MiB. @param text of `nvidia-smi memory-limits --get` */
export function parseMemoryLimits(text: string): { hard: number | undefined; used: number | undefined } {
  const field = (name: string) => {
    const match = new RegExp(`^\\s*${name}:\\s*(\\d+) MiB`, 'im').exec(text)
    return match ? Number(match[1]) : undefined
  }
  return { hard: field('hard limit'), used: field('current used') }
}
