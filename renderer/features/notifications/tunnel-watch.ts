import { type Tunnel, type TunnelId } from '#proxy/contract'

/** Shorter interruptions recover by themselves, and are not worth a message. */
const GRACE_MS = 5_000

export interface TunnelWatchDeps {
  /** Called when tunnels have been lost for a while. @param count tunnels without a connection to their sessions */
  readonly onLost: (count: number) => void
  /** Called when all lost tunnels work again. */
  readonly onBack: (count: number) => void
}

export interface TunnelWatch extends Disposable {
  check(tunnels: readonly Pick<Tunnel, 'id' | 'state'>[]): void
}

/** Reports when tunnels lose their connection and get it back: once for all of them, because they share one network. */
export function createTunnelWatch({ onLost, onBack }: TunnelWatchDeps): TunnelWatch {
  let lost: ReadonlySet<TunnelId> = new Set()
  let told = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  function tell(): void {
    timer = undefined
    told = lost.size
    onLost(told)
  }
  function stop(): void {
    clearTimeout(timer)
    timer = undefined
  }

  return {
    check(tunnels) {
      lost = new Set(tunnels.filter(({ state }) => state === 'reconnecting').map(({ id }) => id))
      if (lost.size > 0) {
        if (told === 0) timer ??= setTimeout(tell, GRACE_MS)
        return
      }
      stop()
      // Tunnels that were closed in the meantime do not count as back.
      const back = Math.min(told, tunnels.filter(({ state }) => state === 'open').length)
      told = 0
      if (back > 0) onBack(back)
    },
    [Symbol.dispose]: stop,
  }
}
