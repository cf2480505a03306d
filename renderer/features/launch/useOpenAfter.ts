import { effectScope, watch } from 'vue'
import { isFinished, type Session } from '#manager/contract'
import { useServices } from '../../services.ts'
import { useNotifications } from '../../ui/useNotifications.ts'
import { useBrowserPlace } from '../../data/apps/useBrowserPlace.ts'
import { useOpenDirectly } from '../../data/apps/useOpenDirectly.ts'
import { useSessions } from '../../data/sessions/useSessions.ts'
import { openTerminalTab } from '../../data/terminal/terminal-tab.ts'
import { TERMINAL } from './open-after.ts'
import { t } from '../../words/en/launch.ts'

/**
 * Opens an app of a session that was launched here, when the session runs. Browsers allow a new tab only shortly after a click, so a
 * message with a button is usually shown instead; the message stays until it is used or closed, until the session ends, or until the user
 * signs out. All of it ends with the page.
 */
export function useOpenAfter() {
  const { host } = useServices()
  const browser = useBrowserPlace()
  const sessions = useSessions()
  const notifications = useNotifications()
  const openDirectly = useOpenDirectly(({ title }) => t('openApp', { app: title }))

  function open(session: Session, name: string): void {
    const app = session.apps.find(each => each.name === name)
    if (name === TERMINAL) openTerminalTab(session.id)
    else if (app) void openDirectly(session, app)
  }

  function offer(session: Session, name: string): void {
    const text = t('sessionRuns', { name: session.name })
    const app = name === TERMINAL ? t('terminal') : session.apps.find(each => each.name === name)?.title
    if (app === undefined) return
    if (name !== TERMINAL && !browser.opensWebApps) notifications.success(text)
    else if (host.isDesktop || isClickRecent()) {
      notifications.success(text)
      open(session, name)
    } else notifications.success(text, { label: t('openApp', { app }), run: () => open(session, name), stays: true })
  }

  /**
   * Waits for the sessions of one launch.
   * @param launched the answer to the launch; nothing is opened for several sessions
   * @param name of the app; empty for none
   */
  return function openAfter(launched: readonly Session[], name: string): void {
    const [session, ...others] = launched
    if (!session || others.length > 0 || name === '') return
    const { id } = session
    // Hints keep a session current only while its list is loaded.
    void sessions.load('live')
    // A separate scope: the launch dialog is closed long before the session runs.
    const scope = effectScope(true)
    let offered = false
    scope.run(() =>
      watch(
        () => stageOf(sessions.byId.get(id)),
        stage => {
          if (stage === 'over') {
            const text = t('sessionRuns', { name: session.name })
            for (const item of notifications.items.filter(each => each.text === text)) notifications.dismiss(item.id)
            scope.stop()
          } else if (stage === 'runs' && !offered) {
            offered = true
            offer(sessions.byId.get(id) ?? session, name)
          }
        },
        { immediate: true },
      ),
    )
  }
}

/** Stage of the session. `over` also if the page no longer has the session, because the user has signed out. */
function stageOf(session: Session | undefined): 'waits' | 'runs' | 'over' {
  if (!session || session.status === 'TERMINATING' || isFinished(session.status)) return 'over'
  return session.status === 'RUNNING' ? 'runs' : 'waits'
}

/** Whether the browser still allows this page to open a tab. Old browsers do not say, so they get the message. */
const isClickRecent = (): boolean => (navigator as Partial<Navigator>).userActivation?.isActive === true
