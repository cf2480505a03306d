import { createHash } from 'node:crypto'
import { createReadStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { build, DIR_TARGET, Platform } from 'electron-builder'
import { type PackageWork, TargetUnavailable } from '../target.ts'
import { writeTarGz } from '../tar-folder.ts'
import { type AppElectron, copyElectron, findAppElectron } from './app-electron.ts'
import { builderConfig, type BuilderInput } from './builder-config.ts'
import { checkApp } from './check-app.ts'
import { stageApp } from './stage-app.ts'

/** Everything that electron-builder makes packages from. */
export interface PreparedApp {
  readonly electron: AppElectron
  readonly input: BuilderInput
}

/** The unpacked desktop app: a folder that can be run from any path. */
export interface PackedApp {
  readonly folder: string
  readonly electron: AppElectron
}

type AppWork = Pick<PackageWork, 'stageDir' | 'seconds' | 'runtime' | 'signal'>

/**
 * Gathers the content of the desktop app: app.asar, Electron, and the programs of Berth on this computer as one archive, which the app
 * unpacks when its user first asks for them (ADR 44).
 */
export async function prepareApp({ stageDir, seconds, runtime, signal }: AppWork): Promise<PreparedApp> {
  const stage = join(stageDir, 'desktop')
  mkdirSync(stage, { recursive: true })
  const quiet = () => undefined
  const electron = await findAppElectron(quiet, signal)
  const electronDist = join(stage, 'electron')
  copyElectron(electron, electronDist)
  const programs = await packPrograms(stage, runtime, seconds)
  const app = join(stage, 'app')
  await stageApp(app, { electron, programs: programs && (await sha256Of(programs)), note: quiet, signal })
  const output = join(stage, 'out')
  return { electron, input: { app, electronDist, electronVersion: electron.version, output, programs } }
}

/** Packs the desktop app for this computer, without an installer, and checks the result. */
export async function packApp({ electron, input }: PreparedApp): Promise<PackedApp> {
  if (process.platform !== 'linux') throw new TargetUnavailable('other systems get an installer: desktop-installer')
  await build({ config: builderConfig(input), targets: Platform.LINUX.createTarget(DIR_TARGET), publish: 'never' })
  const folder = join(input.output, process.arch === 'x64' ? 'linux-unpacked' : `linux-${process.arch}-unpacked`)
  await checkApp(folder)
  return { folder, electron }
}

/** Sessions run on Linux only (`DockerCheck`), and so do the services. */
async function packPrograms(stage: string, runtime: () => Promise<string>, seconds: number) {
  if (process.platform !== 'linux') return undefined
  const file = join(stage, 'programs.tar.gz')
  await writeTarGz(await runtime(), file, { prefix: '', seconds })
  return file
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}
