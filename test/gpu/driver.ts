import { appendFileSync } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { runProgram } from './run-program.ts'

/** The driver of this machine, asked by its own nvidia-smi beside Berth. */
export interface Driver {
  /** Values of one `--query-gpu`, of the first GPU. */
  query(signal: AbortSignal, ...fields: string[]): Promise<string[]>
  /** MiB of each process that computes, by process id of the host. */
  computeApps(signal: AbortSignal): Promise<ReadonlyMap<number, number>>
  /** Writes the raw output of commands, and how long each took, into the driver's log. */
  record(title: string, commands: readonly (readonly string[])[], signal: AbortSignal): Promise<void>
}

/** Commands whose output says what this driver reports; a driver that does not know one says so in the log. */
export const ALL_RECORDS: readonly (readonly string[])[] = [
  ['-L'],
  [],
  [
    '--query-gpu=uuid,memory.total,mig.mode.current,ecc.errors.uncorrected.volatile.total,utilization.gpu,memory.used,name',
    '--format=csv,noheader,nounits',
  ],
  [
    '--query-gpu=ecc.mode.current,ecc.errors.corrected.volatile.total,ecc.errors.uncorrected.volatile.total,ecc.errors.corrected.aggregate.total,ecc.errors.uncorrected.aggregate.total',
    '--format=csv',
  ],
  [
    '--query-gpu=retired_pages.single_bit_ecc.count,retired_pages.double_bit.count,retired_pages.pending',
    '--format=csv',
  ],
  [
    '--query-remapped-rows=gpu_uuid,remapped_rows.correctable,remapped_rows.uncorrectable,remapped_rows.pending,remapped_rows.failure',
    '--format=csv',
  ],
  [
    '--query-remapped-rows=gpu_uuid,remapped_rows.histogram.max,remapped_rows.histogram.high,remapped_rows.histogram.partial,remapped_rows.histogram.low,remapped_rows.histogram.none',
    '--format=csv',
  ],
  [
    '--query-gpu=clocks_event_reasons.active,clocks_event_reasons.supported,clocks_event_reasons.gpu_idle,clocks_event_reasons.sw_power_cap,clocks_event_reasons.hw_slowdown,clocks_event_reasons.hw_thermal_slowdown,clocks_event_reasons.hw_power_brake_slowdown,clocks_event_reasons.sw_thermal_slowdown,clocks_event_reasons.sync_boost',
    '--format=csv',
  ],
  [
    '--query-gpu=clocks_throttle_reasons.active,clocks_throttle_reasons.hw_slowdown,clocks_throttle_reasons.hw_thermal_slowdown,clocks_throttle_reasons.sw_thermal_slowdown',
    '--format=csv',
  ],
  [
    '--query-gpu=temperature.gpu,temperature.gpu.tlimit,temperature.memory,power.draw,power.limit,clocks.sm,clocks.mem,clocks.max.sm,pstate,fan.speed',
    '--format=csv',
  ],
  [
    '--query-gpu=pci.bus_id,pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max,persistence_mode,compute_mode,compute_cap,accounting.mode,vbios_version',
    '--format=csv',
  ],
  [
    '--query-gpu=gpu_recovery_action,reset_status.reset_required,reset_status.drain_and_reset_recommended',
    '--format=csv',
  ],
  ['--query-gpu=gpu_recovery_action', '--format=csv'],
  ['--query-compute-apps=gpu_uuid,pid,used_memory,process_name', '--format=csv'],
  ['--query-accounted-apps=gpu_uuid,pid,gpu_utilization,mem_utilization,max_memory_usage,time', '--format=csv'],
  ['pmon', '-c', '1', '-s', 'u'],
  ['pmon', '-c', '1', '-s', 'um'],
  ['dmon', '-c', '1', '-s', 'pucvmet'],
  ['topo', '-m'],
  ['nvlink', '-s'],
  ['conf-compute', '-f'],
  ['memory-limits', '--help'],
  ['-q', '-d', 'ECC,ROW_REMAPPER,PAGE_RETIREMENT,PERFORMANCE,TEMPERATURE'],
  ['-q', '-x'],
  ['-q'],
  ['--help-query-gpu'],
  ['--help-query-compute-apps'],
  ['--help-query-remapped-rows'],
  ['pmon', '-h'],
]

/** Commands that show the processes on a GPU, those of the agent among them. */
export const processRecords = (uuid: string): readonly (readonly string[])[] => [
  ['--query-gpu=utilization.gpu,memory.used', '--format=csv,noheader'],
  ['--query-compute-apps=gpu_uuid,pid,used_memory', '--format=csv,noheader,nounits'],
  ['--query-compute-apps=gpu_uuid,pid,used_memory,process_name', '--format=csv'],
  ['pmon', '-i', uuid, '-c', '1', '-s', 'u'],
  ['pmon', '-i', uuid, '-c', '1', '-s', 'um'],
  ['pmon', '-c', '2', '-s', 'um'],
]

export function createDriver(program: string, logFile: string | undefined): Driver {
  const ask = (args: readonly string[], signal: AbortSignal) =>
    runProgram(program, args, { signal: AbortSignal.any([signal, AbortSignal.timeout(10_000)]), env: process.env })
  const log = (text: string) => {
    if (logFile !== undefined) appendFileSync(logFile, `${text}\n`)
  }
  return {
    async query(signal, ...fields) {
      const { stdout, stderr } = await ask([`--query-gpu=${fields.join(',')}`, '--format=csv,noheader,nounits'], signal)
      const values =
        stdout
          .split('\n')[0]
          ?.split(',')
          .map(value => value.trim()) ?? []
      if (values.length < fields.length) throw new Error(stderr || stdout || 'the driver said nothing')
      return values
    },
    async computeApps(signal) {
      const { stdout } = await ask(['--query-compute-apps=pid,used_memory', '--format=csv,noheader,nounits'], signal)
      const rows = stdout.split('\n').flatMap(line => {
        const cells = line.split(',').map(cell => Number(cell.trim()))
        const [pid = NaN, used = NaN] = cells.length === 3 ? cells.slice(1) : cells
        return pid > 0 ? [[pid, used] as const] : []
      })
      return new Map(rows)
    },
    async record(title, commands, signal) {
      log(`\n######## ${title} ${new Date().toISOString()}`)
      for (const args of commands) {
        const begun = performance.now()
        const { code, stdout, stderr } = await ask(args, signal).catch((error: unknown) => ({
          code: -1,
          stdout: '',
          stderr: String(error),
        }))
        log(`\n$ nvidia-smi ${args.join(' ')}   # exit ${code}, ${Math.round(performance.now() - begun)} ms`)
        log(`${stdout}${stderr}`.trimEnd())
      }
    },
  }
}

/** Control groups of a process of this machine; '' for one that is gone. */
export const groupsOf = (pid: number): Promise<string> => readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')

/** Facts that the kernel module tells without nvidia-smi. */
export async function readModule(): Promise<string> {
  const gpus = await readdir('/proc/driver/nvidia/gpus').catch(() => [])
  const files = ['/proc/driver/nvidia/version', ...gpus.map(name => `/proc/driver/nvidia/gpus/${name}/information`)]
  const texts = await Promise.all(files.map(file => readFile(file, 'utf8').catch(() => 'not there')))
  return files.map((file, index) => `${file}\n${texts[index]}`).join('\n')
}
