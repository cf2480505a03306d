import { type AgentId, AppError, type Because, type KernelId } from '#manager/contract'

export interface StartInFlight {
  readonly agentId: AgentId
  readonly attempt: number
  /** Shared by all kernels of a session. */
  readonly controller: AbortController
  /** Resolves once the outcome of the start is written, whatever it is. */
  readonly settled: Promise<undefined>
  end(): void
}

/** The starts of sessions that this process has sent, or is about to send, to agents. A kernel has at most one. */
export interface StartsInFlight {
  of(kernelId: KernelId): StartInFlight | undefined
  /** @param kernels each with its agent */
  begin(kernels: ReadonlyMap<KernelId, AgentId>, attempt: number): Pick<StartInFlight, 'controller' | 'end'>
  /** Cancels the start of the kernel on this agent. The caller decides about the session. */
  abort(kernelId: KernelId, agentId: AgentId, why: Because): void
  /** Cancels the start if it is of this attempt, so that the next attempt can begin without waiting for its end. */
  giveUp(kernelId: KernelId, attempt: number, why: Because): void
}

export function createStartsInFlight(): StartsInFlight {
  const starts = new Map<KernelId, StartInFlight>()
  return {
    of: kernelId => starts.get(kernelId),
    begin(kernels, attempt) {
      const { promise: settled, resolve } = Promise.withResolvers<undefined>()
      const controller = new AbortController()
      const begun = new Map<KernelId, StartInFlight>()
      const end = () => {
        for (const [kernelId, start] of begun) if (starts.get(kernelId) === start) starts.delete(kernelId)
        resolve(undefined)
      }
      for (const [kernelId, agentId] of kernels) begun.set(kernelId, { agentId, attempt, controller, settled, end })
      for (const [kernelId, start] of begun) starts.set(kernelId, start)
      return { controller, end }
    },
    abort(kernelId, agentId, why) {
      const start = starts.get(kernelId)
      if (start?.agentId === agentId) start.controller.abort(new AppError('unavailable', why))
    },
    giveUp(kernelId, attempt, why) {
      const start = starts.get(kernelId)
      if (start?.attempt !== attempt) return
      starts.delete(kernelId)
      start.controller.abort(new AppError('unavailable', why))
    },
  }
}
