import { type AppError, type Because, isAppError } from '#manager/contract'

/**
 * A fault of the host with which no session can start. The agent looks for it after a start that failed for a cause that may come of
 * the fault: the cause alone proves nothing, because an image, a request or a full home of a session can bring it about.
 */
export interface ProvenFault {
  /** In words for admins; null unless the fault was found. */
  readonly problem: Because | null
  /** The error of a start, in words for owners where the fault is its cause. */
  told(error: unknown): Promise<unknown>
  /** Looks whether a fault that was found is over. */
  check(): Promise<void>
}

export interface ProvenFaultDeps {
  /** Whether a start that failed so may have met the fault: the agent looks then. */
  readonly isSuspect: (error: AppError) => boolean
  /** The fault in words for admins; null if there is none. @throws if that cannot be said now: the last answer then stands */
  readonly find: () => Promise<Because | null>
  readonly inWordsForOwners: (error: AppError) => AppError
  readonly onChange: () => void
}

export function createProvenFault({ isSuspect, find, inWordsForOwners, onChange }: ProvenFaultDeps): ProvenFault {
  let problem: Because | null = null
  let checking: Promise<void> | undefined

  async function checkNow(): Promise<void> {
    const before = problem
    problem = await find().catch(() => before)
    if ((before === null) !== (problem === null)) onChange()
  }

  /** Starts that fail together share one look. */
  const checkOnce = () => (checking ??= checkNow().finally(() => (checking = undefined)))

  return {
    get problem() {
      return problem
    },
    async told(error) {
      if (!isAppError(error) || !isSuspect(error)) return error
      await checkOnce()
      return problem === null ? error : inWordsForOwners(error)
    },
    check: () => (problem === null ? Promise.resolve() : checkOnce()),
  }
}
