import { cpSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build, Platform } from 'electron-builder'
import { builderConfig } from '../desktop/builder-config.ts'
import { type Target, TargetUnavailable } from '../target.ts'

/**
 * The installer of this computer's system, by electron-builder: AppImage on Linux, dmg and zip on macOS, nsis on Windows. Building it
 * downloads tools. It is only for releases: never with the Electron of the tests.
 */
export const installerTarget: Target = {
  name: 'desktop-installer',
  about: 'the desktop app as AppImage, dmg or nsis, by the system this runs on',
  async make(work) {
    const { electron, input } = await work.prepared()
    if (!electron.official) throw new TargetUnavailable('installers are made with the official Electron only')
    const output = join(work.stageDir, 'installer')
    const made = await build({
      config: builderConfig({ ...input, output }),
      targets: Platform.current().createTarget(),
      publish: 'never',
    })
    const files = made.filter(file => /\.(AppImage|dmg|zip|exe)$/.test(file))
    return files.map(file => {
      const to = join(work.outDir, basename(file))
      cpSync(file, to)
      return to
    })
  },
}
