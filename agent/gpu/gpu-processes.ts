import { sumKnown } from '#base/sum-known'
import { type GpuProcess } from './gpu-plugin.ts'

const MiB = 2 ** 20

/** Lists the processes that compute, with their memory; the process ids are those of the host. */
export const APPS_QUERY = ['--query-compute-apps=gpu_uuid,pid,used_memory', '--format=csv,noheader,nounits']
/** Prints the use of one GPU by its processes once. The use is a mean over about the last second. @see nvidia-smi(1), "Process Monitoring" */
export const useQuery = (uuid: string) => ['pmon', '-i', uuid, '-c', '1', '-s', 'u']

export interface ComputeApp {
  readonly uuid: string
  readonly pid: number
  /** Null where the driver does not tell, as on Windows (WDDM) and in MIG mode. */
  readonly memBytes: number | null
}

/** Parses the output of `APPS_QUERY`; other lines are skipped. */
export function parseComputeApps(csv: string): ComputeApp[] {
  return csv.split('\n').flatMap((line): ComputeApp[] => {
    const [, uuid = '', pid = '', used = ''] = /^\s*(GPU-[\w-]+),\s*(\d+),\s*(.*?)\s*$/.exec(line) ?? []
    return uuid ? [{ uuid, pid: Number(pid), memBytes: /^\d+$/.test(used) ? Number(used) * MiB : null }] : []
  })
}

export interface ProcessUse {
  readonly pid: number
  /** Whether the process draws: its memory is then not in the list of those that compute. */
  readonly isGraphics: boolean
  /** Percent; null for the dash that is printed for an idle process as for one whose use the driver does not count. */
  readonly utilization: number | null
}

/**
 * Parses the output of `useQuery`. Columns are found by the first line of the head, because each driver has others.
 *
 * @returns undefined for any other output: the driver does not count the use of processes
 */
export function parseProcessUse(text: string): ProcessUse[] | undefined {
  const lines = text.split('\n')
  const head = lines.find(line => /^#\s*gpu\s/.test(line))
  const columns = head?.replace(/^#/, '').trim().split(/\s+/) ?? []
  const [pid, type, sm] = ['pid', 'type', 'sm'].map(name => columns.indexOf(name)) as [number, number, number]
  if (pid < 0 || sm < 0) return undefined
  return lines.flatMap((line): ProcessUse[] => {
    const cells = line.trim().split(/\s+/)
    // A name may contain a line break: what follows it is no row. A GPU without processes is a row of dashes.
    if (line.startsWith('#') || cells.length < columns.length || !/^\d+$/.test(cells[pid] ?? '')) return []
    const percent = cells[sm] ?? ''
    return [
      {
        pid: Number(cells[pid]),
        isGraphics: (cells[type] ?? '').includes('G'),
        utilization: /^\d+$/.test(percent) ? Number(percent) : null,
      },
    ]
  })
}

/** Joins both lists of one GPU. A process that draws and computes is two rows of the second list, and one here. Pure. */
export function joinProcesses(apps: readonly ComputeApp[], uses: readonly ProcessUse[] = []): GpuProcess[] {
  const pids = new Set([...apps.map(({ pid }) => pid), ...uses.filter(use => use.isGraphics).map(({ pid }) => pid)])
  return [...pids].map(pid => {
    const memory = apps.filter(app => app.pid === pid).map(app => app.memBytes)
    const percents = uses.filter(use => use.pid === pid).flatMap(({ utilization }) => utilization ?? [])
    return {
      pid,
      memBytes: sumKnown(memory),
      utilization: sumKnown(percents),
    }
  })
}
