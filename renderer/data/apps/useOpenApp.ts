import { onScopeDispose, reactive } from 'vue'
import { defined } from '#base/defined'
import { isAppError, isWebApp, type App, type AppOptions, type SessionId } from '#manager/contract'
import { type Tunnel, type TunnelSpec } from '#proxy/contract'
import { serverNow } from '../../api/server-clock.ts'
import { useServices } from '../../services.ts'
import { useNotifications } from '../../ui/useNotifications.ts'
import { openAppTab, type AppTab } from './app-tab.ts'
import { useBrowserPlace } from './useBrowserPlace.ts'
import { useTunnels } from './useTunnels.ts'
import { t } from '../../words/en/opening.ts'

export type Opening =
  | { readonly status: 'starting'; readonly since: Date }
  /**
   * `url` is set if the user has to open the app with a click; the URL works once. `tunnel` is null for a web app at the address of apps.
   */
  | { readonly status: 'ready'; readonly url: string | null; readonly tunnel: Tunnel | null }
  | {
      readonly status: 'port_taken'
      readonly port: number
      readonly holder: string | null
      /** A port that was free a moment ago. */
      readonly offered: number
    }
  | { readonly status: 'failed'; readonly error: unknown }

export interface OpenOptions {
  readonly port?: number | undefined
  readonly onPortTaken?: 'fail' | 'random'
  /** First page of a web app. */
  readonly path?: string
  /** Arguments and variables; an app that runs with others is restarted. */
  readonly start?: AppOptions
}

/** Opens apps of one session and tracks the state of each. Cancelling closes the tab; a late answer is ignored. */
export function useOpenApp(sessionId: SessionId) {
  const { host, api } = useServices()
  const browser = useBrowserPlace()
  const tunnels = useTunnels()
  const notifications = useNotifications()
  const openings = reactive(new Map<string, Opening>())
  /** Attempts to open apps, by name; an attempt is aborted when it is cancelled or the app is opened again. */
  const attempts = new Map<string, AbortController>()
  const tabs = new Map<string, AppTab>()
  let shown = true

  async function open(app: App, options: OpenOptions = {}): Promise<void> {
    cancel(app.name)
    const mine = new AbortController()
    attempts.set(app.name, mine)
    const isCurrent = () => !mine.signal.aborted
    openings.set(app.name, { status: 'starting', since: serverNow() })
    // Must come before the first await: only until then does the browser count this as the user's click.
    const inDesktop = 'host' in window
    const tab = isWebApp(app) && !inDesktop ? openAppTab(window, app.title) : undefined
    if (tab) tabs.set(app.name, tab)
    const spec = {
      sessionId,
      app: app.name,
      onPortTaken: options.onPortTaken ?? 'fail',
      ...defined({ port: options.port, path: options.path }),
    } as const
    try {
      if (options.start) await api.startApp({ params: { id: sessionId, app: app.name }, body: options.start })
      if (!isCurrent()) return
      if (!isWebApp(app)) {
        const tunnel = await host.tunnel.open(spec)
        tunnels.put(tunnel)
        if (isCurrent()) openings.set(app.name, { status: 'ready', url: null, tunnel })
        return
      }
      const { url, tunnel } = await openPage(app, spec)
      if (tunnel) tunnels.put(tunnel)
      if (!isCurrent()) return
      tabs.delete(app.name)
      tab?.show(url)
      const isOpen = tab?.open === true || (inDesktop && (await host.host.openExternal(url, 'berth')))
      openings.set(app.name, { status: 'ready', url: isOpen ? null : url, tunnel })
    } catch (error) {
      tab?.close()
      if (!isCurrent()) return
      openings.set(app.name, toFailure(error))
      if (!shown) notifications.error(error)
    }
  }

  /** A one-time URL of a web app: at a port of this computer, or, for a browser on another computer, at the address of apps. */
  async function openPage(app: App, spec: TunnelSpec): Promise<{ url: string; tunnel: Tunnel | null }> {
    // If the place cannot be found out, the attempt to open continues, and reports what is wrong.
    await browser.known().catch(() => undefined)
    if (!browser.usesAppsAddress) return await host.tunnel.openApp(spec)
    const body = spec.path === undefined ? {} : { path: spec.path }
    const { url } = await api.openApp({ params: { id: sessionId, app: app.name }, body })
    return { url, tunnel: null }
  }

  function cancel(name: string): void {
    attempts.get(name)?.abort()
    tabs.get(name)?.close()
    tabs.delete(name)
    openings.delete(name)
  }

  // Closing the dialog does not cancel an app that is starting; a failure is then shown as a notification.
  onScopeDispose(() => {
    shown = false
  })
  return { openings, open, cancel, dismiss: (name: string) => openings.delete(name) }
}

/** The state after a failed opening. A taken port becomes a question to the user, not a failure. */
export function toFailure(error: unknown): Opening {
  if (!isAppError(error) || error.code !== 'port_in_use') return { status: 'failed', error }
  const { port, offered, holder } = error.detail
  if (typeof port !== 'number') return { status: 'failed', error }
  const next = typeof offered === 'number' ? offered : port + 1
  return { status: 'port_taken', port, offered: next, holder: holderText(holder) }
}

/** The holder of a port in words. @returns null if the holder is unknown */
function holderText(holder: unknown): string | null {
  if (typeof holder !== 'object' || holder === null) return null
  const { kind, sessionName, app, name, pid } = holder as Readonly<Record<string, unknown>>
  if (typeof sessionName === 'string' && typeof app === 'string')
    return t('ownTunnel', { app: app === 'sshd' ? 'SSH' : app, session: sessionName })
  if (kind === 'berth') return 'Berth'
  if (typeof pid !== 'number') return null
  return t('processOf', { program: typeof name === 'string' && name !== '' ? name : t('aProgram'), pid })
}
