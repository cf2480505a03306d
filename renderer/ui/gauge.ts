/** @returns 0…100, whole */
export function gaugePercent(fraction: number | null): number {
  return Math.round(Math.min(1, Math.max(0, fraction ?? 0)) * 100)
}

/** Nearly full is worth a second look, full is worth a first one. */
export function gaugeTone(percent: number): 'gauge-bad' | 'gauge-warn' | '' {
  if (percent >= 95) return 'gauge-bad'
  return percent >= 80 ? 'gauge-warn' : ''
}
