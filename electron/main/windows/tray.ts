import { type MenuItemConstructorOptions } from 'electron'
import { type SessionId } from '#manager/contract'
import { type TunnelId } from '#proxy/contract'
import { type ElectronSlice, type TraySlice } from '../electron-slice.ts'
import { type AppStatus } from './app-status.ts'
import { TRAY_ICON } from './tray-icon.ts'
import { type Language, wordsOf } from '../questions/words.ts'

export interface TrayActs {
  readonly show: (route?: string) => void
  readonly openTerminal: (id: SessionId) => void
  readonly copy: (text: string) => void
  readonly closeTunnel: (id: TunnelId) => void
  readonly closeFolderPort: () => void
  /** Ends the app without asking again. */
  readonly stopAndQuit: () => void
}

export interface TrayDeps {
  readonly electron: Pick<ElectronSlice, 'Menu' | 'Tray' | 'nativeImage'>
  readonly language: () => Language
  readonly acts: TrayActs
}

export interface AppTray {
  /** Shows this status, in the present language. */
  update(status?: AppStatus): void
  destroy(): void
}

const MOST_SESSIONS = 10
const MOST_TUNNELS = 20
const EMPTY: AppStatus = { sessions: [], tunnels: [], folderPort: null }

/** The tray icon, with the running sessions and open tunnels. */
export function createTray({ electron, language, acts }: TrayDeps): AppTray {
  const tray: TraySlice = new electron.Tray(electron.nativeImage.createFromDataURL(TRAY_ICON))
  let latest = EMPTY
  const update = (status = latest) => {
    latest = status
    tray.setToolTip(wordsOf(language()).trayTip(status.sessions.length, status.tunnels.length))
    // On Linux a menu that has been shown cannot be changed, so each status gets a new menu.
    tray.setContextMenu(electron.Menu.buildFromTemplate(trayMenu(status, language(), acts)))
  }
  tray.on('click', () => acts.show())
  update()
  return { update, destroy: () => tray.destroy() }
}

export function trayMenu(status: AppStatus, language: Language, acts: TrayActs): MenuItemConstructorOptions[] {
  const words = wordsOf(language)
  const sessions = status.sessions.slice(0, MOST_SESSIONS).map(({ id, name }) => ({
    label: plain(name),
    submenu: [
      { label: words.open, click: () => acts.show(`/sessions/${id}`) },
      { label: words.terminal, click: () => acts.openTerminal(id) },
    ],
  }))
  const listener = (
    what: string,
    { host, port }: { readonly host: string; readonly port: number },
    close: () => void,
    more: readonly MenuItemConstructorOptions[] = [],
  ) => ({
    label: `${plain(what)}: ${host}:${port}`,
    submenu: [
      ...more,
      { label: words.copyAddress, click: () => acts.copy(`${host}:${port}`) },
      { label: words.closeTunnel, click: close },
    ],
  })
  const tunnels = status.tunnels.slice(0, MOST_TUNNELS).map(tunnel =>
    listener(words.tunnelOf(tunnel.app.title, tunnel.sessionName), tunnel, () => acts.closeTunnel(tunnel.id), [
      {
        label: `${words.tunnelStates[tunnel.state]} · ↑ ${amount(tunnel.bytesUp)} · ↓ ${amount(tunnel.bytesDown)}`,
        enabled: false,
      },
    ]),
  )
  const folders = status.folderPort ? [listener(words.folderPort, status.folderPort, acts.closeFolderPort)] : []
  const separator = { type: 'separator' } as const
  const part = (title: string, items: readonly MenuItemConstructorOptions[]): MenuItemConstructorOptions[] =>
    items.length === 0 ? [] : [separator, { label: title, enabled: false }, ...items]
  return [
    { label: words.openBerth, click: () => acts.show() },
    ...part(words.running, sessions),
    ...part(words.openTunnels, [...tunnels, ...folders]),
    separator,
    { label: words.stopAndQuit, click: acts.stopAndQuit },
  ]
}

/** An amount of bytes, e.g. `1.5 MB`. */
function amount(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)))
  const value = bytes / 1000 ** power
  return `${value < 10 && power > 0 ? value.toFixed(1) : value.toFixed(0)} ${units[power] ?? ''}`
}

/** Text from others as a label: `&` would mark the next letter as a menu key, and a long text would fill the screen. */
function plain(text: string): string {
  const short = text.length > 80 ? `${text.slice(0, 79)}…` : text
  return short.replaceAll('&', '&&')
}
