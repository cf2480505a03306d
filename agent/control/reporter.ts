import { HEARTBEAT_MS, type Report } from '#agent/contract'
import { type KernelId } from '#manager/contract'
import { type Link } from './link.ts'

/** The full state. `images` is left out by the reporter where the manager knows them already. */
export type CurrentReport = Omit<Report, 'type' | 'sequence' | 'clockMs'>

export interface Reporter extends Disposable {
  now(): void
  /** Something in the report changed; several changes go together. */
  soon(): void
  /** The manager has taken up all reports up to this one, except what they say of these kernels. */
  takenUp(sequence: number, except?: readonly KernelId[]): void
}

const GATHER_MS = 20
/** Every report says everything: of a manager that takes nothing up the last few are enough. */
const KEPT = 8

/**
 * For one connection: numbers reports, sends one with every heartbeat, and images only when they changed.
 * @param onHeard called with each report that was taken up, without the kernels that were not
 */
export function createReporter(
  report: () => CurrentReport,
  link: Pick<Link, 'send'>,
  onHeard: (report: CurrentReport) => void,
): Reporter {
  let sequence = 0
  let imagesSent = ''
  let gathering: NodeJS.Timeout | undefined
  const unheard = new Map<number, CurrentReport>()

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
    unheard.set(sequence, current)
    unheard.delete(sequence - KEPT)
  }

  const heartbeat = setInterval(now, HEARTBEAT_MS)
  return {
    now,
    soon() {
      gathering ??= setTimeout(now, GATHER_MS)
    },
    takenUp(upTo, except = []) {
      for (const [number, current] of unheard) {
        if (number > upTo) continue
        unheard.delete(number)
        onHeard({ ...current, kernels: current.kernels.filter(({ kernelId }) => !except.includes(kernelId)) })
      }
    },
    [Symbol.dispose]() {
      clearInterval(heartbeat)
      clearTimeout(gathering)
    },
  }
}
