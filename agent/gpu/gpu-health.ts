import { type Because, because } from '#manager/contract'
import { type RunSmi } from './run-smi.ts'

/**
 * Figures of health, by the queries that tell them. Each is a query of its own, because a field that a driver does not know fails all of its
 * query: older drivers have other names for slow-downs, those before R570 tell no action, and GPUs before Ampere remap no rows. The whole
 * output of `nvidia-smi -q` has everything, but also names of processes, which sessions choose.
 */
const QUERIES = {
  rows: ['--query-remapped-rows=gpu_uuid,remapped_rows.pending,remapped_rows.failure'],
  pages: ['--query-gpu=uuid,retired_pages.pending'],
  recovery: ['--query-gpu=uuid,gpu_recovery_action'],
  slowdowns: ['clocks_event_reasons', 'clocks_throttle_reasons'].map(
    group =>
      `--query-gpu=uuid,${['hw_thermal_slowdown', 'sw_thermal_slowdown', 'hw_power_brake_slowdown', 'hw_slowdown']
        .map(reason => `${group}.${reason}`)
        .join()}`,
  ),
} as const
const FORMAT = '--format=csv,noheader,nounits'
/** Interval between looks, which are four or five runs of nvidia-smi. */
const LOOK_EVERY_MS = 30_000
/** Looks in a row that have to find a GPU slowed down: a short slow-down is usual under load. */
const SLOW_LOOKS = 2

/** Actions of recovery that the driver asks for after errors of all kinds. `None`, `N/A` and other texts ask for nothing. */
const RECOVERY = /^(GPU )?(Reset|Drain)|^(Node )?Reboot/i
const YES = /^(yes|1)$/i

/** State of a GPU in one look. */
export interface GpuHealth {
  /** Reason why no session may be started on the GPU. */
  readonly problem: Because | null
  /** Something that an administrator should do, although the GPU works. */
  readonly advice: Because | null
  /** Reason why the hardware slows the GPU down now. */
  readonly slowdown: Because | null
}

/** Output of the queries; '' for one that the driver does not know. */
export type HealthText = Readonly<Record<keyof typeof QUERIES, string>>

/** Reads the answers by GPU. `[N/A]`, `[Not Supported]`, `[Unknown Error]` and missing rows are unknown, and no problem. */
export function parseGpuHealth({ rows, pages, recovery, slowdowns }: HealthText): Map<string, GpuHealth> {
  const remapped = parseRows(rows)
  const retired = parseRows(pages)
  const actions = parseRows(recovery)
  const slow = parseRows(slowdowns)
  const uuids = new Set([remapped, retired, actions, slow].flatMap(table => [...table.keys()]))
  return new Map(
    [...uuids].map(uuid => {
      const [isRowPending = '', hasFailed = ''] = remapped.get(uuid) ?? []
      const [isPagePending = ''] = retired.get(uuid) ?? []
      const [action = ''] = actions.get(uuid) ?? []
      const problem = YES.test(hasFailed)
        ? because('gpu_rows_failed')
        : RECOVERY.test(action)
          ? because('gpu_needs_recovery', { action })
          : YES.test(isPagePending)
            ? because('gpu_pages_pending', { gpu: uuid })
            : null
      const advice = YES.test(isRowPending) ? because('gpu_rows_pending', { gpu: uuid }) : null
      return [uuid, { problem, advice, slowdown: slowdownOf(slow.get(uuid) ?? []) }]
    }),
  )
}

/** The other reasons for lower clocks, such as a limit of power that somebody has set, are a matter of course. */
function slowdownOf(cells: readonly string[]): Because | null {
  const [isHot, isWarm, isBraked, isSlow] = cells.map(cell => cell === 'Active')
  if (isHot || isWarm) return because('gpu_slow_hot')
  if (isBraked) return because('gpu_slow_power')
  return isSlow ? because('gpu_slow') : null
}

/** Cells behind the UUID, by UUID. Other lines are errors. */
function parseRows(csv: string): Map<string, readonly string[]> {
  const lines = csv.split('\n').map(line => line.split(',').map(cell => cell.trim()))
  return new Map(lines.flatMap(([uuid = '', ...cells]) => (/^GPU-[\w-]+$/.test(uuid) ? [[uuid, cells]] : [])))
}

/** Findings about one GPU by the last looks. */
export interface HealthFindings {
  readonly problem: Because | null
  readonly warning: Because | null
}

/** Looks at the health of GPUs now and then, in the background. */
export interface HealthWatch {
  /** Begins a look if one is due. @returns the look in progress */
  look(signal: AbortSignal): Promise<void>
  of(uuid: string): HealthFindings
}

export function createHealthWatch(ask: RunSmi, now = () => performance.now()): HealthWatch {
  let found: ReadonlyMap<string, GpuHealth> = new Map()
  /** Looks in a row that found the GPU slowed down. */
  let slow: ReadonlyMap<string, number> = new Map()
  let lookedAt = -Infinity
  let looking: Promise<void> | undefined

  /** Answer to the first of these queries that the driver knows. */
  async function answer(signal: AbortSignal, queries: readonly string[]): Promise<string> {
    for (const query of queries) {
      const { text } = await ask(signal, query, FORMAT)
      if (text.includes('GPU-')) return text
    }
    return ''
  }

  async function look(signal: AbortSignal): Promise<void> {
    const text = {
      rows: await answer(signal, QUERIES.rows),
      pages: await answer(signal, QUERIES.pages),
      recovery: await answer(signal, QUERIES.recovery),
      slowdowns: await answer(signal, QUERIES.slowdowns),
    }
    const seen = parseGpuHealth(text)
    // A GPU does not recover by being silent: without an answer, the last one counts.
    if (seen.size === 0) return
    slow = new Map([...seen].flatMap(([uuid, { slowdown }]) => (slowdown ? [[uuid, (slow.get(uuid) ?? 0) + 1]] : [])))
    found = seen
  }

  return {
    look(signal) {
      if (looking || now() - lookedAt < LOOK_EVERY_MS) return looking ?? Promise.resolve()
      lookedAt = now()
      looking = look(signal)
        .catch(() => undefined)
        .finally(() => (looking = undefined))
      return looking
    },
    of(uuid) {
      const { problem, advice, slowdown } = found.get(uuid) ?? { problem: null, advice: null, slowdown: null }
      const isSlow = (slow.get(uuid) ?? 0) >= SLOW_LOOKS
      return { problem, warning: advice ?? (isSlow ? slowdown : null) }
    },
  }
}
