export interface SliderRange {
  readonly min: number
  readonly max: number
  readonly step: number
}

const first = ({ min, step }: SliderRange) => Math.floor(min / step)

/** The last position of a slider whose positions are the minimum (0), the multiples of the step, and the maximum. */
export function positions(range: SliderRange): number {
  return range.max <= range.min ? 0 : Math.ceil(range.max / range.step) - first(range)
}

export function amountAt(position: number, range: SliderRange): number {
  return Math.min(range.max, Math.max(range.min, (first(range) + position) * range.step))
}

/** The position nearest to an amount within the range. */
export function positionOf(amount: number, range: SliderRange): number {
  if (amount <= range.min) return 0
  if (amount >= range.max) return positions(range)
  return Math.min(positions(range), Math.max(0, Math.round(amount / range.step) - first(range)))
}
