import { onScopeDispose, watch } from 'vue'
import { useTunnels } from '../../data/apps/useTunnels.ts'
import { logError } from '../../ui/error-log.ts'
import { type Notice } from './notice.ts'
import type { TunnelWatch } from './tunnel-watch.ts'

/** Adds a notice when tunnels lose their connection, and when they are back. Ends with the current scope. */
export function watchTunnels(add: (notice: Omit<Notice, 'at' | 'read'>) => void): void {
  const tunnels = useTunnels()
  const tellOf = (kind: 'tunnelsLost' | 'tunnelsBack') => (count: number) =>
    add({ id: `${kind} ${Date.now()}`, kind, name: '', count, to: '/tunnels' })
  /** Loaded with the first tunnel. */
  let tunnelWatch: Promise<TunnelWatch> | undefined
  async function loadTunnelWatch(): Promise<TunnelWatch> {
    const { createTunnelWatch } = await import('./tunnel-watch.ts')
    return createTunnelWatch({ onLost: tellOf('tunnelsLost'), onBack: tellOf('tunnelsBack') })
  }
  watch(
    () => tunnels.all,
    now => {
      if (now.length > 0) tunnelWatch ??= loadTunnelWatch()
      tunnelWatch?.then(it => it.check(tunnels.all)).catch(logError)
    },
  )
  onScopeDispose(() => void tunnelWatch?.then(it => it[Symbol.dispose]()))
}
