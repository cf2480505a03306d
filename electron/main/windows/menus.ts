import { type MenuItemConstructorOptions } from 'electron'
import { type ElectronSlice, type TraySlice } from '../electron-slice.ts'
import { TRAY_ICON } from './tray-icon.ts'

export interface MenuDeps {
  readonly electron: Pick<ElectronSlice, 'Menu' | 'Tray' | 'nativeImage' | 'app'>
  readonly showConsole: (route?: string) => void
  /** Ends the app without asking again. */
  readonly stopAndQuit: () => void
}

/** Minimal menu for keyboard shortcuts; the console's own page is the interface. Reload keeps tunnels: they are not in the page. */
export function installMenu({ electron, showConsole }: Omit<MenuDeps, 'stopAndQuit'>): void {
  const template: MenuItemConstructorOptions[] = [
    {
      label: 'Berth',
      submenu: [
        { label: 'Sessions', accelerator: 'CmdOrCtrl+1', click: () => showConsole('/sessions') },
        { type: 'separator' },
        { label: 'Quit', accelerator: 'CmdOrCtrl+Q', click: () => electron.app.quit() },
      ],
    },
    { role: 'editMenu' },
    {
      label: 'View',
      submenu: [
        { role: 'reload' },
        { role: 'resetZoom' },
        { role: 'zoomIn' },
        { role: 'zoomOut' },
        { role: 'togglefullscreen' },
        { role: 'toggleDevTools' },
      ],
    },
    { role: 'windowMenu' },
  ]
  electron.Menu.setApplicationMenu(electron.Menu.buildFromTemplate(template))
}

/** Tray icon that leads back to the app while it runs without a window. */
export function createTray({ electron, showConsole, stopAndQuit }: MenuDeps): TraySlice {
  const tray = new electron.Tray(electron.nativeImage.createFromDataURL(TRAY_ICON))
  tray.setToolTip('Berth keeps your tunnels open')
  tray.setContextMenu(
    electron.Menu.buildFromTemplate([
      { label: 'Open Berth', click: () => showConsole() },
      { label: 'Stop and quit', click: stopAndQuit },
    ]),
  )
  tray.on('click', () => showConsole())
  return tray
}
