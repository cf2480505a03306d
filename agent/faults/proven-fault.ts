import { type AppError, type Because, isAppError } from '#manager/contract'

/**
 * A fault of the host with which no session can start. The agent checks for it after a failed start whose cause may be this fault. The
 * cause alone proves nothing, because an image, a request or a session's full home can produce it too.
 */
export interface ProvenFault {
  /** Text for admins; null unless the fault was found. */
  readonly problem: Because | null
  /** Rewords the error of a failed start for owners if this fault caused it. */
  told(error: unknown): Promise<unknown>
  /** Checks whether a fault that was found is over. */
  check(): Promise<void>
}

export interface ProvenFaultDeps {
  /** Whether this fault may have caused the error of a failed start: the agent then checks. */
  readonly isSuspect: (error: AppError) => boolean
  /** The fault as text for admins; null if there is none. @throws if that cannot be determined now: the last answer then stays valid */
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

  /** Starts that fail together share one check. */
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
