import { join } from 'node:path'
import { type Configuration } from 'electron-builder'
import { ROOT } from '../../bootstrap/image-recipes.ts'
import { fusesOf } from './fuses.ts'

export interface BuilderInput {
  /** Folder of the app (`stage-app.ts`). */
  readonly app: string
  /** Folder of Electron's files without an app. */
  readonly electronDist: string
  readonly electronVersion: string
  readonly output: string
  /** Archive with the programs of Berth on this computer; undefined if they do not run on it. */
  readonly programs: string | undefined
}

/** Name of the app among all apps, for macOS and software centres. */
export const APP_ID = 'io.berth.desktop'

const HERE = join(ROOT, 'build', 'packages', 'desktop')
const ICON = join(HERE, 'icon.png')

/**
 * Configuration of electron-builder. `npm run package` uses it for the unpacked app; the installers of each platform are made from it by
 * `desktop-installer`, on that platform. Signing and notarisation happen only if their variables are set (CSC_LINK, CSC_KEY_PASSWORD;
 * APPLE_ID, APPLE_APP_SPECIFIC_PASSWORD, APPLE_TEAM_ID).
 *
 * @see https://www.electron.build/configuration
 */
export function builderConfig({ app, electronDist, electronVersion, output, programs }: BuilderInput): Configuration {
  return {
    appId: APP_ID,
    productName: 'Berth',
    copyright: 'The Berth authors, Apache-2.0',
    directories: { app, output, buildResources: HERE },
    electronDist,
    electronVersion,
    electronLanguages: ['en-US', 'en', 'ko'],
    electronFuses: fusesOf(electronVersion),
    asar: true,
    asarUnpack: ['**/*.node'],
    // The folder of the app is complete, including node_modules: nothing needs to be installed or compiled.
    beforeBuild: () => Promise.resolve(false),
    // Compressed copies of the page are only for servers. Without its own set, node_modules would be left out.
    files: ['**/*', '!**/*.{br,gz,map}', '!**/.sources', { from: 'node_modules', to: 'node_modules' }],
    extraResources: programs === undefined ? [] : [{ from: programs, to: 'programs.tar.gz' }],
    protocols: [{ name: 'Berth', schemes: ['berth'] }],
    publish: null,
    // The default names on Windows contain spaces, which update lists do not allow; `stores/release.ts` parses these names.
    artifactName: 'berth-desktop-${version}-${os}-${arch}.${ext}',
    linux: {
      target: ['AppImage'],
      executableName: 'berth-desktop',
      category: 'Network',
      icon: ICON,
      syncDesktopName: true,
    },
    mac: {
      target: ['dmg', 'zip'],
      category: 'public.app-category.developer-tools',
      icon: ICON,
      hardenedRuntime: true,
      notarize: process.env['APPLE_TEAM_ID'] !== undefined,
    },
    dmg: { title: 'Berth ${version}' },
    win: { target: ['nsis'], icon: ICON },
    // Installs for one user, without an administrator; data stays when the app is removed.
    nsis: {
      ...{ oneClick: false, perMachine: false, allowElevation: true, deleteAppDataOnUninstall: false },
      installerLanguages: ['en_US', 'ko_KR'],
    },
  }
}
