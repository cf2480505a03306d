/** @returns a whole number, 0…100 */
export function gaugePercent(fraction: number | null): number {
  return Math.round(Math.min(1, Math.max(0, fraction ?? 0)) * 100)
}

/** The tone of a gauge: a warning when nearly full (from 80 %), an alarm when full (from 95 %). */
export function gaugeTone(percent: number): 'gauge-bad' | 'gauge-warn' | '' {
  if (percent >= 95) return 'gauge-bad'
  return percent >= 80 ? 'gauge-warn' : ''
}
