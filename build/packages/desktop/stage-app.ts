import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defined } from '#base/defined'
import { ensureDesktopBundle } from '../../bootstrap/desktop-app.ts'
import { ROOT } from '../../bootstrap/image-recipes.ts'
import { type Note } from '../../bootstrap/progress.ts'
import { bundleForTestElectron } from '../../test-electron/bundle-app.ts'
import { lockedPackages } from '../locked-packages.ts'
import { MANIFEST } from '../manifest.ts'
import { stagePackage } from '../stage-runtime.ts'
import { type AppElectron } from './app-electron.ts'

/** npm packages with native code, which no bundle can contain. */
const NATIVE = /^(@napi-rs\/keyring(-.*)?|bufferutil|node-gyp-build)$/

export interface AppSources {
  readonly electron: AppElectron
  /** SHA-256 (hex) of the archive with the programs of Berth on this computer; undefined if they do not run on it. */
  readonly programs: string | undefined
  readonly note: Note
  readonly signal: AbortSignal
}

/** Writes the content of app.asar: the bundles, the page, native packages, and a manifest that pins the programs of the services. */
export async function stageApp(folder: string, { electron, programs, note, signal }: AppSources): Promise<void> {
  mkdirSync(folder, { recursive: true })
  if (electron.official) {
    await ensureDesktopBundle(note, signal)
    for (const part of ['dist/electron', 'dist/renderer'])
      cpSync(join(ROOT, part), join(folder, part), { recursive: true })
  } else {
    await bundleForTestElectron(folder)
  }
  const native = lockedPackages().filter(({ name }) => NATIVE.test(name))
  for (const { path } of native) stagePackage(path, folder)
  const { name, version, description, license, berthUpdates } = MANIFEST
  const manifest = {
    ...{ name, version, description, license, author: 'Berth maintainers <maintainers@berth.invalid>' },
    ...{ type: 'module', main: `dist/electron/main/main.${electron.official ? 'js' : 'cjs'}` },
    // Electron passes this to the system, to connect its windows with the menu entry.
    desktopName: 'berth-desktop.desktop',
    ...defined({ berthUpdates }),
    ...(programs === undefined ? {} : { berth: { programs } }),
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
}
