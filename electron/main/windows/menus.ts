import { type MenuItemConstructorOptions } from 'electron'
import { defined } from '#base/defined'
import { type ElectronSlice } from '../electron-slice.ts'
import { type Language, wordsOf } from '../questions/words.ts'

export interface MenuDeps {
  readonly electron: Pick<ElectronSlice, 'Menu' | 'app'>
  readonly platform: NodeJS.Platform
  readonly language: Language
  readonly showConsole: (route?: string) => void
  readonly showLogs: () => void
  /** False: the environment chooses the server. */
  readonly canChangeServer: boolean
  /** Undefined: this app looks for no updates. */
  readonly checkUpdates: (() => void) | undefined
}

/**
 * The application menu. The console's page is the interface; the menu lists its pages, and the keys that people expect. Reload keeps
 * tunnels: they are not in the page.
 */
export function installMenu(deps: MenuDeps): void {
  const { Menu } = deps.electron
  Menu.setApplicationMenu(Menu.buildFromTemplate(menuTemplate(deps)))
}

export function menuTemplate(deps: MenuDeps): MenuItemConstructorOptions[] {
  const { electron, platform, language, showConsole, showLogs, canChangeServer, checkUpdates } = deps
  const words = wordsOf(language)
  const place = (label: string, route: string, accelerator?: string): MenuItemConstructorOptions => ({
    label,
    click: () => showConsole(route),
    ...defined({ accelerator }),
  })
  const separator = { type: 'separator' } as const
  // The first menu of macOS is that of the app: users and the system expect these entries there.
  const isMac = platform === 'darwin'
  const about: MenuItemConstructorOptions[] = isMac ? [{ role: 'about', label: words.about }, separator] : []
  const hiding: MenuItemConstructorOptions[] = isMac
    ? [
        { role: 'services', label: words.services },
        separator,
        { role: 'hide', label: words.hide },
        { role: 'hideOthers', label: words.hideOthers },
        { role: 'unhide', label: words.showAll },
        separator,
      ]
    : []
  return [
    {
      label: 'Berth',
      submenu: [
        ...about,
        place(words.sessions, '/sessions', 'CmdOrCtrl+1'),
        place(words.folders, '/data', 'CmdOrCtrl+2'),
        place(words.tunnels, '/tunnels', 'CmdOrCtrl+3'),
        separator,
        place(words.preferences, '/preferences', 'CmdOrCtrl+,'),
        ...(canChangeServer ? [place(words.changeServer, '/start')] : []),
        separator,
        ...hiding,
        { label: words.quit, accelerator: 'CmdOrCtrl+Q', click: () => electron.app.quit() },
      ],
    },
    {
      label: words.edit,
      submenu: [
        { role: 'undo', label: words.undo },
        { role: 'redo', label: words.redo },
        separator,
        { role: 'cut', label: words.cut },
        { role: 'copy', label: words.copy },
        { role: 'paste', label: words.paste },
        { role: 'selectAll', label: words.selectAll },
      ],
    },
    {
      label: words.view,
      submenu: [
        { role: 'reload', label: words.reload },
        { role: 'resetZoom', label: words.actualSize },
        { role: 'zoomIn', label: words.zoomIn },
        { role: 'zoomOut', label: words.zoomOut },
        { role: 'togglefullscreen', label: words.fullScreen },
        { role: 'toggleDevTools', label: words.developerTools },
      ],
    },
    {
      label: words.window,
      role: 'windowMenu',
      submenu: [
        { role: 'minimize', label: words.minimize },
        { role: 'close', label: words.close },
      ],
    },
    {
      label: words.help,
      role: 'help',
      submenu: [
        place(words.information, '/information'),
        { label: words.showLogs, click: showLogs },
        ...(checkUpdates ? [{ label: words.checkUpdates, click: checkUpdates }] : []),
      ],
    },
  ]
}
