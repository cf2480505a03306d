import { onScopeDispose, watch } from 'vue'
import { type DesktopReport } from '#proxy/contract'
import { useNotices } from '../features/notifications/useNotices.ts'
import { useAccount } from '../data/account/useAccount.ts'
import { useSessions } from '../data/sessions/useSessions.ts'
import { useTransfers } from '../features/files/transfers/useTransfers.ts'
import { type Host } from '../host.ts'
import { logError } from '../ui/error-log.ts'
import { hasEdits } from '../ui/unload-guard.ts'
import { showDesktopWarnings } from './desktop-warnings.ts'

const MOST_SESSIONS = 20

/**
 * Tells the desktop app what its badge, tray and task bar show, whenever that changes. Also reports changes of this computer's network, and
 * shows the app's warnings. Ends with the component that called it. A separate file, so that browsers do not load it.
 */
export function reportToDesktop(host: Pick<Host, 'desktop' | 'on' | 'tunnel'>): void {
  const account = useAccount()
  const notices = useNotices()
  const sessions = useSessions()
  const transfers = useTransfers()
  showDesktopWarnings(host)

  const running = () =>
    sessions.live
      .filter(session => session.status === 'RUNNING' && account.owns(session))
      .slice(0, MOST_SESSIONS)
      .map(({ id, name }) => ({ id, name }))
  function uploads(): DesktopReport['uploads'] {
    const { pending, paused, bytes, bytesSent } = transfers.totals
    if (pending === 0 && paused === 0) return null
    // In steps of one percent: the task bar shows no less, and each step is a call.
    const fraction = bytes === 0 ? 0 : Math.round((bytesSent / bytes) * 100) / 100
    return { fraction: Math.min(1, fraction), isPaused: pending === 0 }
  }
  const send = (report: DesktopReport) => void host.desktop.report(report).catch(logError)
  const wake = () => void host.tunnel.wake().catch(logError)

  watch(
    () => JSON.stringify([notices.unread, running(), uploads(), hasEdits.value]),
    () => send({ unread: notices.unread, sessions: running(), uploads: uploads(), hasEdits: hasEdits.value }),
    { immediate: true },
  )
  // `online` says that there is a network again; a change of the connection says that it is another network.
  const { connection } = navigator as { connection?: EventTarget }
  globalThis.addEventListener('online', wake)
  connection?.addEventListener('change', wake)
  onScopeDispose(() => {
    globalThis.removeEventListener('online', wake)
    connection?.removeEventListener('change', wake)
    send({ unread: 0, sessions: [], uploads: null, hasEdits: false })
  })
}
