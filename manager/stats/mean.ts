/** Weighted mean of the known values: null is skipped, not counted as 0. */
export class Mean {
  #sum = 0
  #weight = 0

  add(value: number | null, weight = 1): void {
    if (value === null) return
    this.#sum += value * weight
    this.#weight += weight
  }

  /** The rounded mean; null if no value is known. @param parts of one: 10 = one decimal */
  rounded(parts: number): number | null {
    return this.#weight === 0 ? null : Math.round((this.#sum / this.#weight) * parts) / parts
  }
}
