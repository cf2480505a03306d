import { type ElectronApplication } from 'playwright-core'

/** The icon in the tray, which the screen of the tests does not show. */
export interface TrayMenu {
  /** Labels of the menu's first level, without separators; empty before the app has created a menu. */
  labels(): Promise<string[]>
  /** Clicks on the icon, or on the item at the end of a path of labels. @throws if there is no such item */
  click(...path: readonly string[]): Promise<void>
}

interface Kept {
  tray?: Electron.Tray
  trayMenu?: Electron.Menu
}

/** Records the menu of the tray from now on. */
export async function watchTray(electron: ElectronApplication): Promise<TrayMenu> {
  await electron.evaluate(({ Tray }) => {
    const setMenu = Tray.prototype.setContextMenu
    Tray.prototype.setContextMenu = function setContextMenu(menu) {
      Object.assign(globalThis, { tray: this, trayMenu: menu } satisfies { [K in keyof Kept]: unknown })
      setMenu.call(this, menu)
    }
  })
  return {
    labels: () =>
      electron.evaluate(() =>
        ((globalThis as Kept).trayMenu?.items ?? []).map(({ label }) => label).filter(label => label !== ''),
      ),
    click: (...path) =>
      electron.evaluate((_, labels) => {
        const { tray, trayMenu } = globalThis as Kept
        if (labels.length === 0) {
          tray?.emit('click')
          return
        }
        const item = labels.reduce<Electron.MenuItem | undefined>(
          (above, label) => (above ? above.submenu : trayMenu)?.items.find(one => one.label === label),
          undefined,
        )
        if (!item) throw new Error(`the tray has no item ${labels.join(' > ')}`)
        ;(item as never as { click(): void }).click()
      }, path),
  }
}
