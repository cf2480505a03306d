import { HEARTBEAT_MS, type Report } from '#agent/contract'
import { type KernelId } from '#manager/contract'
import { type Link } from './link.ts'

/** The full state. The reporter omits `images` if the manager has them already. */
export type CurrentReport = Omit<Report, 'type' | 'sequence' | 'clockMs'>

export interface Reporter extends Disposable {
  now(): void
  /** Call when something in the report changed; several changes are sent together. */
  soon(): void
  /** Call when the manager has processed all reports up to this one, except for the kernels in `except`. */
  takenUp(
    sequence: number,
    of?: { except?: readonly KernelId[] | undefined; started?: readonly KernelId[] | undefined },
  ): void
}

export interface Heard {
  /** Time on the clock of `performance.now()`. */
  readonly sentAt: number
  /** Kernels that the manager knows to run, although the report cannot say so for certain. */
  readonly started: readonly KernelId[]
}

const GATHER_MS = 20
/**
 * Number of unacknowledged reports to keep. Every report is complete, so the last few are enough for a manager that
 * acknowledges nothing.
 */
const KEPT = 8

/**
 * Numbers the reports of one connection, sends one with every heartbeat, and includes images only when they changed.
 *
 * @param onHeard called with each report that the manager processed, without the kernels it did not, and the time at which it
 * was sent, on the clock of `performance.now()`
 */
export function createReporter(
  report: () => CurrentReport,
  link: Pick<Link, 'send'>,
  onHeard: (report: CurrentReport, heard: Heard) => void,
): Reporter {
  let sequence = 0
  let imagesSent = ''
  let gathering: NodeJS.Timeout | undefined
  const unheard = new Map<number, { current: CurrentReport; sentAt: number }>()

  function now(): void {
    clearTimeout(gathering)
    gathering = undefined
    const current = report()
    const { images, ...rest } = current
    const text = JSON.stringify(images)
    const changed = text !== imagesSent
    imagesSent = text
    link.send({
      type: 'report',
      sequence: ++sequence,
      clockMs: Date.now(),
      ...rest,
      ...(changed && images ? { images } : {}),
    })
    unheard.set(sequence, { current, sentAt: performance.now() })
    unheard.delete(sequence - KEPT)
  }

  const heartbeat = setInterval(now, HEARTBEAT_MS)
  return {
    now,
    soon() {
      gathering ??= setTimeout(now, GATHER_MS)
    },
    takenUp(upTo, { except = [], started = [] } = {}) {
      for (const [number, { current, sentAt }] of unheard) {
        if (number > upTo) continue
        unheard.delete(number)
        const kernels = current.kernels.filter(({ kernelId }) => !except.includes(kernelId))
        onHeard({ ...current, kernels }, { sentAt, started })
      }
    },
    [Symbol.dispose]() {
      clearInterval(heartbeat)
      clearTimeout(gathering)
    },
  }
}
