import { spawn } from 'node:child_process'

const OPENERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  linux: ['xdg-open'],
}

/** True if a person may be sitting in front of this computer's screen. */
export function hasDisplay(env = process.env, platform = process.platform): boolean {
  return platform !== 'linux' || Boolean(env.DISPLAY) || Boolean(env.WAYLAND_DISPLAY)
}

/**
 * Opens the page in the user's browser. Every user of the computer can read the URL in the process list.
 *
 * @returns false if there is no browser to open
 */
export function openBrowser(url: string): Promise<boolean> {
  const [command, ...args] = OPENERS[process.platform] ?? []
  if (!command || !hasDisplay()) return Promise.resolve(false)
  return new Promise(resolve => {
    const child = spawn(command, [...args, url], { detached: true, stdio: 'ignore' })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}
