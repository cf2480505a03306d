import { type DesktopReport, type FolderPort, type HostEvents, type Tunnel, type TunnelId } from '#proxy/contract'

/** What the tray shows. */
export interface AppStatus {
  readonly sessions: DesktopReport['sessions']
  readonly tunnels: readonly Pick<Tunnel, 'id' | 'sessionName' | 'app' | 'host' | 'port' | 'state'>[]
  readonly folderPort: FolderPort | null
}

export interface AppStatusKeeper {
  /** Call with every event of the proxy. */
  heard<E extends keyof HostEvents>(event: E, payload: HostEvents[E]): void
  reported(report: DesktopReport): void
}

export interface AppStatusDeps {
  /** Called when something that the tray shows has changed: not with every byte. */
  readonly onChange: (status: AppStatus) => void
  readonly setBadge: (count: number) => void
  /** A negative fraction removes the bar. */
  readonly setProgress: (fraction: number, mode: 'normal' | 'paused') => void
}

/** Keeps what the tray, the badge and the task bar show: tunnels by the proxy's events, the rest as the page reports it. */
export function createAppStatus({ onChange, setBadge, setProgress }: AppStatusDeps): AppStatusKeeper {
  const tunnels = new Map<TunnelId, AppStatus['tunnels'][number]>()
  let sessions: DesktopReport['sessions'] = []
  let folderPort: FolderPort | null = null
  let shown = ''
  let badge = 0

  function update(): void {
    const status = { sessions, tunnels: [...tunnels.values()], folderPort }
    const text = JSON.stringify([sessions, status.tunnels, folderPort?.port])
    if (text === shown) return
    shown = text
    onChange(status)
  }

  return {
    heard(event, payload) {
      if (event === 'tunnel:changed') {
        const { id, sessionName, app, host, port, state } = payload as HostEvents['tunnel:changed']
        tunnels.set(id, { id, sessionName, app, host, port, state })
      } else if (event === 'tunnel:closed') tunnels.delete((payload as HostEvents['tunnel:closed']).id)
      else if (event === 'sftp:changed') folderPort = payload as HostEvents['sftp:changed']
      else return
      update()
    },
    reported({ unread, sessions: running, uploads }) {
      sessions = running
      if (unread !== badge) setBadge(unread)
      badge = unread
      setProgress(uploads?.fraction ?? -1, uploads?.isPaused === true ? 'paused' : 'normal')
      update()
    },
  }
}
