import { access, constants } from 'node:fs/promises'
import path from 'node:path'

export interface BrowserDeps {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
  /** Name of the desktop's program for links of this scheme; '' for none. */
  readonly nameFor: (scheme: string) => string
  readonly isExecutable?: (file: string) => Promise<boolean>
}

/** Browsers with windows that `xdg-open` tries if the desktop names none. */
const GENERIC = [
  'x-www-browser',
  'firefox',
  'iceweasel',
  'seamonkey',
  'mozilla',
  'epiphany',
  'konqueror',
  'chromium',
  'chromium-browser',
  'google-chrome',
]

/**
 * Whether a link would open. On Linux the system does not report failures: `xdg-open` fails after Electron has stopped waiting, and writes
 * the address, perhaps with a one-time ticket, to the terminal that started the app.
 */
export async function hasBrowser({ platform, env, nameFor, isExecutable = canRun }: BrowserDeps): Promise<boolean> {
  if (platform !== 'linux' || env['BROWSER']) return true
  // In a package sandbox `xdg-open` asks the system outside, whose programs we cannot see.
  if (env['SNAP'] || env['FLATPAK_ID']) return true
  if (nameFor('https') !== '') return true
  const folders = (env['PATH'] ?? '').split(':').filter(folder => path.posix.isAbsolute(folder))
  const files = folders.flatMap(folder => GENERIC.map(name => path.posix.join(folder, name)))
  return (await Promise.all(files.map(isExecutable))).includes(true)
}

const canRun = (file: string): Promise<boolean> =>
  access(file, constants.X_OK).then(
    () => true,
    () => false,
  )
