import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROGRAM } from '../desktop/check-app.ts'
import { LIBRARIES } from '../desktop/libraries.ts'
import { type PackedApp } from '../desktop/pack-app.ts'
import {
  APP_FOLDER,
  copyIcons,
  DESKTOP_DEB_SCRIPTS,
  DESKTOP_RPM_SCRIPTS,
  desktopEntry,
  layOutSystem,
  SYSTEM_FILES,
} from '../desktop/system-files.ts'
import { MANIFEST } from '../manifest.ts'
import { type Target } from '../target.ts'
import { writeTarGz } from '../tar-folder.ts'
import { SETUID_PROGRAM } from '../tree.ts'
import { type SystemProduct, systemTargets } from './system-targets.ts'

const NAME = 'berth-desktop'
const SUMMARY = 'Desktop console for GPU container sessions'
const DESCRIPTION = 'The desktop app of Berth, with the servers for Berth on this computer.'
const TEST_DESCRIPTION = 'FOR TESTS ONLY: this package contains an Electron that is years old.'

/** Suffix of the names of packages that contain the Electron of the tests. */
export const marked = (app: Pick<PackedApp, 'electron'>, ending: string): string =>
  app.electron.official ? ending : `.for-tests${ending}`

/** The unpacked app, to be started in its folder. */
export const desktopFolderTarget: Target = {
  name: 'desktop-folder',
  about: 'the unpacked desktop app',
  async make(work) {
    const app = await work.desktop()
    const folder = join(work.outDir, `${NAME}-${MANIFEST.version}-linux-${process.arch}${marked(app, '')}`)
    rmSync(folder, { recursive: true, force: true })
    cpSync(app.folder, folder, { recursive: true, verbatimSymlinks: true })
    return [folder]
  },
}

const NOTES = `Start ${PROGRAM} as an ordinary user.

If it says that the sandbox cannot be used, the system forbids user namespaces to ordinary users. Then give ${SETUID_PROGRAM} to root, once:

  sudo chown root:root ${SETUID_PROGRAM} && sudo chmod 4755 ${SETUID_PROGRAM}

For an entry in the menu and links that begin with berth://, copy ${PROGRAM}.desktop to ~/.local/share/applications, with the path of the
program in its line Exec, and ${PROGRAM}.svg to ~/.local/share/icons/hicolor/scalable/apps.
`

/** The app as an archive: unpack it anywhere. */
export const desktopTarTarget: Target = {
  name: 'desktop-tar',
  about: 'the desktop app as .tar.gz, to be unpacked anywhere',
  async make(work) {
    const app = await work.desktop()
    const folder = join(work.stageDir, 'desktop-tar')
    cpSync(app.folder, folder, { recursive: true, verbatimSymlinks: true })
    writeFileSync(join(folder, 'README.txt'), NOTES)
    writeFileSync(join(folder, `${PROGRAM}.desktop`), desktopEntry(`/opt/${NAME}/${PROGRAM}`))
    copyIcons(join(folder, `${PROGRAM}.svg`), join(folder, `${PROGRAM}.png`))
    const base = `${NAME}-${MANIFEST.version}`
    const file = join(work.outDir, `${base}-linux-${process.arch}${marked(app, '.tar.gz')}`)
    await writeTarGz(folder, file, { prefix: base, seconds: work.seconds })
    return [file]
  },
}

const DEB_DEPENDS = ['libc6 (>= 2.28)', ...LIBRARIES.map(({ deb }) => deb), 'xdg-utils']
const RPM_REQUIRES = ['glibc >= 2.28', ...LIBRARIES.map(({ rpm }) => rpm), 'xdg-utils']

/** The app for package managers. */
export const DESKTOP_PRODUCT: SystemProduct = {
  target: 'desktop',
  about: 'the desktop app',
  async stage(work, packager) {
    const app = await work.desktop()
    const root = join(work.stageDir, `desktop-${packager}`)
    layOutSystem(app.folder, root)
    const description = app.electron.official ? DESCRIPTION : TEST_DESCRIPTION
    return { name: NAME, summary: SUMMARY, description, root, mark: marked(app, '') }
  },
  deb: { section: 'devel', depends: DEB_DEPENDS, recommends: ['openssh-client'], scripts: DESKTOP_DEB_SCRIPTS },
  rpm: { requires: RPM_REQUIRES, scripts: DESKTOP_RPM_SCRIPTS, owns: [APP_FOLDER, ...SYSTEM_FILES] },
}

export const desktopTargets = systemTargets(DESKTOP_PRODUCT)
