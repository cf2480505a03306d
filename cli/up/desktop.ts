import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openProgram } from './open-program.ts'

/**
 * Opens the desktop app if Electron's binary and its bundle exist. The app takes the sign-in link from its environment, which
 * only its user can read; the ticket works once. An app that runs already gets the link from the one that is started. Importing `electron` would start a download, so we check its files instead.
 *
 * @returns false if there is no desktop app, or it ends at once; as root it would, because Chromium refuses to run without its
 * sandbox
 */
export async function openDesktop(root: string, signInUrl: string): Promise<boolean> {
  if (process.getuid?.() === 0) return false
  try {
    const binary = await electronProgram(join(root, 'node_modules', 'electron'))
    await Promise.all([access(binary), access(join(root, 'dist', 'electron', 'main', 'main.js'))])
    const opened = await openProgram(binary, [root], { ...process.env, BERTH_SIGN_IN_LINK: signInUrl })
    return opened !== undefined
  } catch {
    return false // no binary or no bundle
  }
}

/** The variable is Electron's own, for a program that was fetched to another place. */
async function electronProgram(folder: string, override = process.env.ELECTRON_OVERRIDE_DIST_PATH): Promise<string> {
  if (override) return join(override, 'electron')
  return join(folder, 'dist', (await readFile(join(folder, 'path.txt'), 'utf8')).trim())
}
