import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { type ElectronSlice } from '../electron-slice.ts'

/** Starts the app without a window. */
export const BACKGROUND_SWITCH = '--background'

export interface LoginItem {
  isOn(): Promise<boolean>
  set(isOn: boolean): Promise<void>
}

export interface LoginItemDeps {
  readonly app: Pick<ElectronSlice['app'], 'getLoginItemSettings' | 'setLoginItemSettings'>
  readonly platform: NodeJS.Platform
  /** Program and arguments that start the app. */
  readonly command: readonly string[]
  /** Linux: the folder of the user's configuration, `~/.config`. */
  readonly configHome: string
  /** Name of the item, so that each profile has its own. */
  readonly name: string
}

/** Starts the app with the user's sign-in to this computer: by Electron on Windows and macOS, by an autostart file on Linux. */
export function createLoginItem({ app, platform, command, configHome, name }: LoginItemDeps): LoginItem {
  if (platform !== 'linux') {
    const [program = '', ...rest] = command
    const options = { path: program, args: [...rest, BACKGROUND_SWITCH] }
    return {
      isOn: () => Promise.resolve(app.getLoginItemSettings(options).openAtLogin),
      set(isOn) {
        app.setLoginItemSettings({ openAtLogin: isOn, ...options })
        return Promise.resolve()
      },
    }
  }
  const file = path.join(configHome, 'autostart', `${name}.desktop`)
  return {
    isOn: () =>
      readFile(file, 'utf8').then(
        text => !/^(Hidden=true|X-GNOME-Autostart-enabled=false)$/m.test(text),
        () => false,
      ),
    async set(isOn) {
      if (!isOn) {
        await rm(file, { force: true })
        return
      }
      await mkdir(path.dirname(file), { recursive: true })
      await writeFile(file, desktopEntry([...command, BACKGROUND_SWITCH]))
    },
  }
}

/** An entry of the desktop specification. In `Exec`, every argument is quoted, and `%` would begin a field code. */
export function desktopEntry(command: readonly string[]): string {
  const quoted = command.map(argument => `"${argument.replaceAll(/["`$\\]/g, '\\$&').replaceAll('%', '%%')}"`)
  // The file format adds its own escapes to those of `Exec`.
  const exec = quoted.join(' ').replaceAll('\\', '\\\\')
  return `[Desktop Entry]\nType=Application\nName=Berth\nExec=${exec}\nTerminal=false\nX-GNOME-Autostart-enabled=true\n`
}
