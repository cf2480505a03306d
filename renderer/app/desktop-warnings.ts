import { onScopeDispose } from 'vue'
import { type DesktopWarning } from '#proxy/contract'
import { type Host } from '../host.ts'
import { useAccount } from '../data/account/useAccount.ts'
import { addAdminTexts } from '../words/admin-texts.ts'
import { textBy } from '../ui/cause-text.ts'
import { logError } from '../ui/error-log.ts'
import { type Notification, useNotifications } from '../ui/useNotifications.ts'
import { t } from '../words/en/desktop-warnings.ts'

/** Administration page that shows permanently why sessions are only partly isolated. */
const AGENTS = '#/admin/agents'

/** Shows the open warnings of the desktop app, until the scope ends, as messages that stay until the person closes them. */
export function showDesktopWarnings(host: Pick<Host, 'desktop' | 'on'>): void {
  const account = useAccount()
  const notifications = useNotifications()
  const shown = new Map<DesktopWarning['kind'], number>()
  let open: readonly DesktopWarning[] = []

  function takeAway(kind: DesktopWarning['kind']): void {
    const id = shown.get(kind)
    // Remove it from `shown` before it is dismissed, so that the app does not take this for the person's answer.
    shown.delete(kind)
    if (id !== undefined) notifications.dismiss(id)
  }
  function actionOf(kind: DesktopWarning['kind']): Notification['action'] {
    if (kind !== 'partly_isolated' || !account.isSuperadmin) return undefined
    return { label: t('showAgents'), run: () => void (globalThis.location.hash = AGENTS) }
  }
  function add(warning: DesktopWarning): void {
    const { kind } = warning
    if (shown.has(kind)) return
    const closed = () => {
      if (shown.delete(kind)) host.desktop.closeWarning(kind).catch(logError)
    }
    shown.set(kind, notifications.keep(textOf(warning), closed, actionOf(kind)))
  }
  async function follow(next: readonly DesktopWarning[]): Promise<void> {
    open = next
    // Reasons of agents are among the texts of administration.
    if (open.some(({ kind }) => kind === 'partly_isolated')) await addAdminTexts()
    for (const kind of shown.keys()) if (open.every(other => other.kind !== kind)) takeAway(kind)
    for (const warning of open) add(warning)
  }
  const show = (next: readonly DesktopWarning[]) => void follow(next).catch(logError)

  const stop = host.on('desktop:warned', show)
  host.desktop.warnings().then(show, logError)
  onScopeDispose(() => {
    stop()
    show([])
  })
}

function textOf(warning: DesktopWarning): string {
  if (warning.kind === 'sign_in_not_kept') return t('signInNotKept', { why: warning.why })
  return t('partlyIsolated', { why: textBy(warning.reason, warning.reason.why) })
}
