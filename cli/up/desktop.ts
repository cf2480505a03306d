import { spawn } from 'node:child_process'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Opens the desktop app where Electron's binary and its bundle are there; it signs in by itself through the door of the
 * data directory. Importing `electron` would start a download, so its files are looked at instead.
 * @returns false where there is none
 */
export async function openDesktop(root: string, url: string): Promise<boolean> {
  const package_ = join(root, 'node_modules', 'electron')
  try {
    const binary = join(package_, 'dist', (await readFile(join(package_, 'path.txt'), 'utf8')).trim())
    await Promise.all([access(binary), access(join(root, 'dist', 'electron', 'main', 'main.js'))])
    const app = spawn(binary, [root], { detached: true, stdio: 'ignore', env: { ...process.env, BERTH_ENDPOINT: url } })
    app.unref()
    return true
  } catch {
    return false // no binary, no bundle: the browser is the console
  }
}
