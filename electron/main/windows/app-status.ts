import { type DesktopReport, type FolderPort, type HostEvents, type Tunnel, type TunnelId } from '#proxy/contract'
import { type PageWork } from './ask-before-quit.ts'

/** The state that the tray shows. */
export interface AppStatus {
  readonly sessions: DesktopReport['sessions']
  readonly tunnels: readonly Pick<
    Tunnel,
    'id' | 'sessionName' | 'app' | 'host' | 'port' | 'state' | 'bytesUp' | 'bytesDown'
  >[]
  readonly folderPort: FolderPort | null
}

export interface AppStatusKeeper {
  /** Call with every event of the proxy. */
  heard<E extends keyof HostEvents>(event: E, payload: HostEvents[E]): void
  /** Call when a page reports its state. The latest report decides, except for uploads and edits, which count for all pages. */
  reported(page: number, report: DesktopReport): void
  /** Call when the page was closed or reloaded: its work has ended. */
  pageGone(page: number): void
  /** Work that would be lost with the pages. */
  readonly work: PageWork
}

export interface AppStatusDeps {
  /** Called when something that the tray shows has changed, but not for every byte. */
  readonly onChange: (status: AppStatus) => void
  readonly setBadge: (count: number) => void
  /** A negative fraction removes the bar. */
  readonly setProgress: (fraction: number, mode: 'normal' | 'paused') => void
  readonly now?: () => number
}

/** Interval of updates for traffic: an open menu must not change all the time. */
const TRAFFIC_EVERY_MS = 10_000

/** Keeps what the tray, the badge and the task bar show: tunnels by the proxy's events, the rest as the page reports it. */
export function createAppStatus(deps: AppStatusDeps): AppStatusKeeper {
  const { onChange, setBadge, setProgress, now = () => performance.now() } = deps
  const tunnels = new Map<TunnelId, AppStatus['tunnels'][number]>()
  const works = new Map<number, Pick<DesktopReport, 'uploads' | 'hasEdits'>>()
  let sessions: DesktopReport['sessions'] = []
  let folderPort: FolderPort | null = null
  let shown = ''
  let shownAt = -Infinity
  let badge = 0

  function update(): void {
    const status = { sessions, tunnels: [...tunnels.values()], folderPort }
    const text = JSON.stringify([sessions, status.tunnels, folderPort?.port])
    if (text === shown) return
    shown = text
    shownAt = now()
    onChange(status)
  }

  /** Progress of the window whose uploads are furthest behind. */
  function uploads(): DesktopReport['uploads'] {
    const all = [...works.values()].flatMap(work => work.uploads ?? [])
    return all.toSorted((a, b) => a.fraction - b.fraction)[0] ?? null
  }

  function showUploads(): void {
    const shown = uploads()
    setProgress(shown?.fraction ?? -1, shown?.isPaused === true ? 'paused' : 'normal')
  }

  return {
    heard(event, payload) {
      if (event === 'tunnel:changed') {
        const { id, sessionName, app, host, port, state, bytesUp, bytesDown } = payload as HostEvents['tunnel:changed']
        const before = tunnels.get(id)
        const bytes = before ? { bytesUp: before.bytesUp, bytesDown: before.bytesDown } : { bytesUp, bytesDown }
        tunnels.set(id, { id, sessionName, app, host, port, state, ...bytes })
      } else if (event === 'tunnel:closed') tunnels.delete((payload as HostEvents['tunnel:closed']).id)
      else if (event === 'tunnel:traffic') {
        if (now() - shownAt < TRAFFIC_EVERY_MS) return
        for (const { id, bytesUp, bytesDown } of payload as HostEvents['tunnel:traffic']) {
          const tunnel = tunnels.get(id)
          if (tunnel) tunnels.set(id, { ...tunnel, bytesUp, bytesDown })
        }
      } else if (event === 'sftp:changed') folderPort = payload as HostEvents['sftp:changed']
      else return
      update()
    },
    reported(page, { unread, sessions: running, uploads, hasEdits }) {
      sessions = running
      if (unread !== badge) setBadge(unread)
      badge = unread
      works.set(page, { uploads, hasEdits })
      showUploads()
      update()
    },
    pageGone(page) {
      if (works.delete(page)) showUploads()
    },
    get work() {
      return { uploads: uploads()?.fraction ?? null, hasEdits: [...works.values()].some(work => work.hasEdits) }
    },
  }
}
