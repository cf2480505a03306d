import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openProgram } from './open-program.ts'

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
    return await openProgram(binary, [root], { ...process.env, BERTH_ENDPOINT: signInUrl })
  } catch {
    return false // no binary or no bundle
  }
}
