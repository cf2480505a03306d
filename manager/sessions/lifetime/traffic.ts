import { type SessionId } from '#manager/contract'
import { type SessionActivity } from '../../tunnels/activity.ts'
import { type TrafficWindow } from './verdict.ts'

/** Measures the traffic of sessions' tunnels within a window, from counters that only grow. */
export interface TrafficMeter {
  /** Call it regularly: the window reaches back to the first call within it. */
  measure(id: SessionId, activity: SessionActivity): TrafficWindow
  /** Forgets all sessions except these. */
  keep(ids: ReadonlySet<SessionId>): void
}

interface Look extends SessionActivity {
  readonly at: number
}

export function createTrafficMeter(windowMs: number, now: () => number = () => performance.now()): TrafficMeter {
  const looks = new Map<SessionId, readonly Look[]>()
  return {
    measure(id, activity) {
      const at = now()
      const last: Look = { ...activity, at }
      const before = (looks.get(id) ?? []).filter(measure => measure.at > at - windowMs)
      looks.set(id, [...before, last])
      const first = before[0] ?? last
      const bytes = (of: (activity: SessionActivity) => number) => {
        const grown = of(last) - of(first)
        // The gateway forgets sessions without tunnels when there are very many; its counters then restart from 0.
        return grown >= 0 ? grown : of(last)
      }
      const terminalBytes = bytes(({ terminalBytesDown }) => terminalBytesDown)
      return {
        tunnels: activity.tunnels - activity.terminals,
        tunnelBytes: Math.max(0, bytes(({ bytesUp, bytesDown }) => bytesUp + bytesDown) - bytes(terminalTotal)),
        terminals: activity.terminals,
        terminalBytes,
      }
    },
    keep(ids) {
      for (const id of looks.keys()) if (!ids.has(id)) looks.delete(id)
    },
  }
}

const terminalTotal = ({ terminalBytesUp, terminalBytesDown }: SessionActivity) => terminalBytesUp + terminalBytesDown
