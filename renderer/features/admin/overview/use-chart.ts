import { type ResourceSlots, SLOTS, type UsageHistory } from '#manager/contract'
import { type ChartPoints } from '../../../ui/chart-points.ts'

export const RANGES = ['day', 'week', 'month'] as const
export type Range = (typeof RANGES)[number]

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** The periods of a range: a month by days, shorter ranges by hours. */
const SPANS = {
  day: { by: 'hour', ms: DAY_MS, period: HOUR_MS },
  week: { by: 'hour', ms: 7 * DAY_MS, period: HOUR_MS },
  month: { by: 'day', ms: 30 * DAY_MS, period: DAY_MS },
} as const

/** Query to the manager for a range. */
export function rangeQuery(range: Range, now: Date) {
  const { by, ms } = SPANS[range]
  return { by, from: new Date(now.getTime() - ms).toISOString(), scope: 'all' } as const
}

type Held = 'cpuHours' | 'gpuHours'

/**
 * The amount that sessions held on average in each period. The last period is not over, so its average is over the part that has passed.
 */
export function heldPoints(
  items: UsageHistory['items'],
  held: Held,
  label: string,
  { range, now }: { readonly range: Range; readonly now: Date },
): ChartPoints {
  const { period } = SPANS[range]
  const values = items.map(item => {
    const passed = Math.min(period, Math.max(60_000, now.getTime() - Date.parse(item.at)))
    return (item[held] * HOUR_MS) / passed
  })
  return { times: items.map(({ at }) => Date.parse(at) / 1000), lines: [{ label, values }] }
}

/** All GPUs: whole ones, and the shares of the others. */
export const gpusOf = (slots: ResourceSlots): number =>
  (slots['cuda.device'] ?? 0) + (slots['cuda.shares'] ?? 0) / SLOTS['cuda.shares'].base
export const coresOf = (slots: ResourceSlots): number => (slots.cpu ?? 0) / SLOTS.cpu.base
