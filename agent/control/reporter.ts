import { HEARTBEAT_MS, type Report } from '#agent/contract'
import { type Link } from './link.ts'

/** The full state. `images` is left out by the reporter where the manager knows them already. */
export type CurrentReport = Omit<Report, 'type' | 'sequence' | 'clockMs'>

export interface Reporter extends Disposable {
  now(): void
  /** Something in the report changed; several changes go together. */
  soon(): void
}

const GATHER_MS = 20

/**
 * For one connection: numbers reports, sends one with every heartbeat, and images only when they changed.
 * @param onHeard called with each report that has arrived
 */
export function createReporter(
  report: () => CurrentReport,
  link: Pick<Link, 'send' | 'onArrival'>,
  onHeard: (report: CurrentReport) => void,
): Reporter {
  let sequence = 0
  let imagesSent = ''
  let gathering: NodeJS.Timeout | undefined

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
    link.onArrival(() => onHeard(current))
  }

  const heartbeat = setInterval(now, HEARTBEAT_MS)
  return {
    now,
    soon() {
      gathering ??= setTimeout(now, GATHER_MS)
    },
    [Symbol.dispose]() {
      clearInterval(heartbeat)
      clearTimeout(gathering)
    },
  }
}
