/** @param share 0.5 = median; nearest rank, no interpolation. @returns NaN for an empty list */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN
}

export const median = (values: readonly number[]) => quantile(values, 0.5)

/** For people and JSON alike: only as many digits as the measurement is precise. */
export const round = (value: number, digits = 2) => Number(value.toFixed(digits))
