/** A line of a chart: a value for each time, null if nothing was measured. */
export interface ChartLine {
  readonly label: string
  readonly values: readonly (number | null)[]
}

/** Measured points of a chart: ascending times in seconds since 1970, with the values of each line. */
export interface ChartPoints {
  readonly times: readonly number[]
  readonly lines: readonly ChartLine[]
}

/**
 * Breaks the lines where nothing was measured for more than two steps: a line across a gap would suggest figures that do not exist.
 * @param step seconds between two points
 */
export function withGaps({ times, lines }: ChartPoints, step: number): ChartPoints {
  const isGap = (index: number) => (times[index] ?? 0) - (times[index - 1] ?? 0) > 2 * step + 1
  const filled: number[] = []
  const values = lines.map((): (number | null)[] => [])
  times.forEach((time, index) => {
    if (index > 0 && isGap(index)) {
      filled.push((times[index - 1] ?? 0) + step)
      values.forEach(line => line.push(null))
    }
    filled.push(time)
    values.forEach((line, at) => line.push(lines[at]?.values[index] ?? null))
  })
  return { times: filled, lines: lines.map(({ label }, at) => ({ label, values: values[at] ?? [] })) }
}

/** Rate per second of a growing total; null if the total restarts from 0. */
export function ratesOf(totals: readonly number[], times: readonly number[]): (number | null)[] {
  return totals.map((total, index) => {
    if (index === 0) return null
    const seconds = (times[index] ?? 0) - (times[index - 1] ?? 0)
    const grown = total - (totals[index - 1] ?? 0)
    return seconds > 0 && grown >= 0 ? grown / seconds : null
  })
}

const POWERS_OF_TWO = Array.from({ length: 60 }, (_, power) => 2 ** power)
/** Largest number of parts of an axis between 0 and its top. */
const MOST_PARTS = 4

/**
 * Steps of an axis from 0: at most four, the last of which is not below the highest value.
 * @param high largest value to show
 * @param finest smallest step that the texts can show: a power of ten
 */
export function axisSteps(high: number, { binary = false, finest }: { binary?: boolean; finest?: number }): number[] {
  const most = Math.max(high, finest ?? 1)
  const steps = binary ? POWERS_OF_TWO : stepsFrom(finest ?? 10 ** (Math.floor(Math.log10(most)) - 1))
  const step = steps.find(one => most / one <= MOST_PARTS) ?? most
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, index) => index * step)
}

/** Space between two texts of an axis. */
const TEXT_GAP = 18
/** Smallest distance of two lines of the grid. */
const LEAST_SPACE = 68

/** Distance of two steps of an axis with such texts below it, so that neighbours stay apart in any language. @param widthOf in pixels */
export const textSpace = (texts: readonly string[], widthOf: (text: string) => number): number =>
  Math.max(LEAST_SPACE, ...texts.map(text => Math.ceil(widthOf(text)) + TEXT_GAP))

/** The last measured value; null if there is none. */
export const lastKnown = (values: readonly (number | null | undefined)[]): number | null =>
  values.findLast(value => typeof value === 'number') ?? null

/** 0.1, 0.2, 0.5, 1, … from `finest` on, which is a power of ten. */
function stepsFrom(finest: number): number[] {
  return Array.from({ length: 14 }, (_, power) => [1, 2, 5].map(digit => digit * finest * 10 ** power)).flat()
}
