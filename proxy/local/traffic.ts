import { type Tunnel, type TunnelId, type TunnelTraffic } from '#proxy/contract'

export interface TrafficDeps {
  readonly tunnels: () => Iterable<Pick<Tunnel, 'id' | 'connections' | 'bytesUp' | 'bytesDown'>>
  /** Receives the tunnels that carried bytes since the last measurement, and once more, with a rate of 0, those that stopped. */
  readonly onTraffic: (traffic: readonly TunnelTraffic[]) => void
  readonly now?: () => number
}

export interface TrafficMeter extends Disposable {
  /** Call when a connection was opened or closed. */
  follow(): void
}

const EVERY_MS = 1_000

/** Measures how many bytes per second each tunnel carries. One timer serves all tunnels; without connections there is none. */
export function createTrafficMeter({ tunnels, onTraffic, now = () => performance.now() }: TrafficDeps): TrafficMeter {
  let counted = new Map<TunnelId, { readonly up: number; readonly down: number; readonly isMoving: boolean }>()
  let countedAt = 0
  let timer: NodeJS.Timeout | undefined

  function check(): void {
    const seconds = Math.max(0.001, (now() - countedAt) / 1_000)
    countedAt = now()
    const next: typeof counted = new Map()
    const traffic: TunnelTraffic[] = []
    let isBusy = false
    for (const { id, connections, bytesUp, bytesDown } of tunnels()) {
      const before = counted.get(id) ?? { up: 0, down: 0, isMoving: false }
      const up = bytesUp - before.up
      const down = bytesDown - before.down
      const isMoving = up + down > 0
      next.set(id, { up: bytesUp, down: bytesDown, isMoving })
      if (isMoving || before.isMoving)
        traffic.push({ id, bytesUp, bytesDown, upPerSecond: up / seconds, downPerSecond: down / seconds })
      isBusy ||= isMoving || connections > 0
    }
    counted = next
    if (traffic.length > 0) onTraffic(traffic)
    if (!isBusy) stop()
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  return {
    follow() {
      if (timer) return
      countedAt = now()
      timer = setInterval(check, EVERY_MS)
      timer.unref()
    },
    [Symbol.dispose]: stop,
  }
}
