import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

/** Time after which the app counts as opened: an app that lacks a library or a display has ended by then. */
const EARLY_END_MS = 2_000

/**
 * Opens the desktop app if Electron's binary and its bundle exist. The app takes the sign-in link from its environment, which
 * only its user can read; the ticket works once. Importing `electron` would start a download, so we check its files instead.
 *
 * @returns false if there is no desktop app, or it ends at once; as root it would, because Chromium refuses to run without its
 * sandbox
 */
export async function openDesktop(root: string, signInUrl: string): Promise<boolean> {
  if (process.getuid?.() === 0) return false
  const package_ = join(root, 'node_modules', 'electron')
  try {
    const binary = join(package_, 'dist', (await readFile(join(package_, 'path.txt'), 'utf8')).trim())
    await Promise.all([access(binary), access(join(root, 'dist', 'electron', 'main', 'main.js'))])
    const env = { ...process.env, BERTH_ENDPOINT: signInUrl }
    const app = spawn(binary, [root], { detached: true, stdio: 'ignore', env })
    await once(app, 'spawn')
    app.unref()
    const code = await Promise.race([once(app, 'exit').then(([code]) => code as number | null), wait(EARLY_END_MS)])
    // Zero: an instance that is already running has taken over.
    return code === undefined || code === 0
  } catch {
    return false // no binary or no bundle: use the browser instead
  }
}
