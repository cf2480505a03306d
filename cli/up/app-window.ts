import { access, constants, mkdir, realpath } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { openProgram, type OpenedProgram } from './open-program.ts'

/** Browsers that can show a page in a window of its own, the most common first. */
const LINUX = [
  'google-chrome-stable',
  'google-chrome',
  'chromium',
  'chromium-browser',
  'microsoft-edge-stable',
  'microsoft-edge',
  'brave-browser',
]
const MAC = ['Google Chrome', 'Chromium', 'Microsoft Edge', 'Brave Browser']
const WINDOWS = [
  ['Google', 'Chrome', 'Application', 'chrome.exe'],
  ['Microsoft', 'Edge', 'Application', 'msedge.exe'],
  ['BraveSoftware', 'Brave-Browser', 'Application', 'brave.exe'],
]

/** Paths at which a browser of the Chromium family may be installed, in the order in which they are tried. Pure. */
export function browserPaths(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): string[] {
  if (platform === 'darwin') {
    const homes = ['', ...(env.HOME === undefined ? [] : [env.HOME])]
    return MAC.flatMap(name => homes.map(home => `${home}/Applications/${name}.app/Contents/MacOS/${name}`))
  }
  if (platform === 'win32') {
    const folders = [env.ProgramFiles, env['ProgramFiles(x86)'], env.LOCALAPPDATA].filter(
      folder => folder !== undefined,
    )
    return WINDOWS.flatMap(parts => folders.map(folder => [folder, ...parts].join('\\')))
  }
  const folders = (env.PATH ?? '').split(delimiter).filter(Boolean)
  return LINUX.flatMap(name => folders.map(folder => join(folder, name)))
}

/**
 * Opens a page in a window without tabs and address bar, in a profile of its own: signing in there concerns no other browser, and the
 * extensions of the user's browser see nothing of it.
 *
 * @param profile directory, made if it is not there
 * @returns undefined if no browser can do this, e.g. as root, where Chromium refuses to run without its sandbox
 */
export async function openAppWindow(page: string, profile: string): Promise<OpenedProgram | undefined> {
  if (process.getuid?.() === 0) return undefined
  const browser = await firstUsable(browserPaths(process.platform, process.env))
  if (browser === undefined) return undefined
  await mkdir(profile, { recursive: true, mode: 0o700 })
  return openProgram(browser, [
    `--app=${page}`,
    `--user-data-dir=${profile}`,
    '--class=Berth',
    '--no-first-run',
    '--no-default-browser-check',
    // The window shows only one page, so the browser needs nothing from its vendor.
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ])
}

async function firstUsable(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    try {
      await access(path, constants.X_OK)
      // A snap may not read hidden folders of the home directory, where the page and the profile are.
      if (!(await realpath(path)).startsWith('/snap/')) return path
    } catch {
      // Not installed there.
    }
  }
  return undefined
}
