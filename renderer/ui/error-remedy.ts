import { type CauseKey, isAppError } from '#manager/contract'

/** A button beside an error that the page itself can remedy. */
export interface Remedy {
  readonly label: string
  readonly run: () => void
}

const remedies = new Map<string, () => Remedy>()

/** Registers the remedy for errors of a cause. The shell does this once, for all places that show errors. */
export function offerRemedy(cause: CauseKey, remedy: () => Remedy): void {
  remedies.set(cause, remedy)
}

/** The remedy for an error; undefined if there is none. */
export function remedyOf(error: unknown): Remedy | undefined {
  const cause = isAppError(error) ? error.detail['cause'] : undefined
  return typeof cause === 'string' ? remedies.get(cause)?.() : undefined
}
