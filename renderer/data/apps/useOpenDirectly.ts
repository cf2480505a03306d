import { effectScope, getCurrentInstance } from 'vue'
import { type App, type Session } from '#manager/contract'
import { useNotifications } from '../../ui/useNotifications.ts'
import { useOpenApp } from './useOpenApp.ts'

const LABS = ['jupyterlab', 'jupyter'] as const

/** The notebook app of a session, JupyterLab before the older one; undefined without any. */
export function labOf({ apps }: Pick<Session, 'apps'>): App | undefined {
  return LABS.map(name => apps.find(app => app.name === name)).find(app => app !== undefined)
}

/** Opens an app with one click, without the dialog of apps. A failure is shown as a message. */
export function useOpenDirectly(openLabel: (app: App) => string) {
  const context = getCurrentInstance()?.appContext.app
  const notifications = useNotifications()

  return async function openDirectly({ id }: Pick<Session, 'id'>, app: App): Promise<void> {
    const scope = effectScope(true)
    const opener = scope.run(() => context?.runWithContext(() => useOpenApp(id)))
    // The tab must open with the click, so this comes before anything asynchronous. After its scope has ended, the opener reports failures.
    const opening = opener?.open(app)
    scope.stop()
    await opening
    const state = opener?.openings.get(app.name)
    // The browser blocked the tab: one more click opens it.
    if (state?.status !== 'ready' || state.url === null) return
    const { url } = state
    notifications.success(app.title, {
      label: openLabel(app),
      run: () => void window.open(url, '_blank', 'noopener,noreferrer'),
    })
  }
}
