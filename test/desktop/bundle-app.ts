import { rm, symlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { bundleForTestElectron } from '../../build/test-electron/bundle-app.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/** The desktop app as a folder for the Electron of the tests; the services of this computer are started from the clone. */
export function bundleApp(): Promise<string> {
  return (bundled ??= bundle())
}

let bundled: Promise<string> | undefined

async function bundle(): Promise<string> {
  const folder = join(ROOT, 'dist/desktop-test')
  await bundleForTestElectron(folder)
  await rm(join(folder, 'bin'), { recursive: true, force: true })
  await symlink(join(ROOT, 'bin'), join(folder, 'bin'))
  return folder
}
