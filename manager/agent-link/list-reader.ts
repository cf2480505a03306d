import { type z } from 'zod'
import { type Because, because } from '#manager/contract'
import { KernelLabel, type KernelReport } from '#agent/contract'

/** Largest number of invalid items of one list that are examined. */
const MOST_WRONG = 100

/** Reads a list item by item. */
export interface ListReader {
  read(item: unknown): void
  /** The valid items so far. */
  readonly valid: readonly unknown[]
  /** Sentence about the items that were dropped; none if all are valid. */
  leftOut(): readonly Because[]
}

type What = 'containers' | 'images' | 'devices' | 'figures'

/** @param kept which part of a valid item to keep */
export function createListReader<T>(schema: z.ZodType<T>, what: What, kept: (item: T) => T = item => item): ListReader {
  const valid: T[] = []
  let first: z.ZodError | undefined
  let wrong = 0
  return {
    valid,
    read(item) {
      const { success, data, error } = wrong < MOST_WRONG ? schema.safeParse(item) : DROPPED
      if (success) valid.push(kept(data))
      else {
        wrong++
        first ??= error
      }
    },
    leftOut() {
      if (!first) return []
      const [issue] = first.issues
      const text = issue ? `${issue.path.map(String).join('.')}: ${issue.message}`.slice(0, 200) : '?'
      return [because(`report_${what}_left_out`, { count: wrong, text })]
    },
  }
}

const DROPPED = { success: false, data: undefined, error: undefined } as const

/** Removes invalid labels, so that they are not parsed again. */
export function createLabelCheck(): (kernel: KernelReport) => KernelReport {
  let wrong = 0
  return kernel => {
    if (kernel.label === null || kernel.label === undefined) return kernel
    if (wrong < MOST_WRONG && KernelLabel.safeParse(kernel.label).success) return kernel
    wrong++
    return { ...kernel, label: null }
  }
}
