import { type KernelId } from '#manager/contract'

/** A failure within this time after a program was ended because of a lack of memory counts as its consequence. */
const AFTER_KILL_MS = 60_000
/** Most kernels of an agent that are remembered; when there are more, the oldest are forgotten. */
const MOST_KERNELS = 1_000

/** Kernels in which, according to an agent, a program was ended because of a lack of memory. */
export class RecentKills {
  readonly #at = new Map<KernelId, number>()
  readonly #now: () => number

  constructor(now = () => performance.now()) {
    this.#now = now
  }

  note(kernelId: KernelId): void {
    this.#at.delete(kernelId)
    this.#at.set(kernelId, this.#now())
    for (const oldest of this.#at.keys()) {
      if (this.#at.size <= MOST_KERNELS) return
      this.#at.delete(oldest)
    }
  }

  /** Whether a program of the kernel was ended within the last minute. */
  isRecent(kernelId: KernelId): boolean {
    return this.#now() - (this.#at.get(kernelId) ?? -Infinity) < AFTER_KILL_MS
  }
}
