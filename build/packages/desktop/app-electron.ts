import { cpSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { ensureElectron } from '../../bootstrap/desktop-app.ts'
import { ROOT } from '../../bootstrap/image-recipes.ts'
import { type Note, StepError } from '../../bootstrap/progress.ts'
import { ensureTestElectron, NoTestElectron, TEST_ELECTRON, testElectronFolder } from '../../bootstrap/test-electron.ts'
import { TargetUnavailable } from '../target.ts'

/** The Electron that a package of the desktop app contains. */
export interface AppElectron {
  /** Folder of its files, which must not be changed. */
  readonly folder: string
  readonly version: string
  /** False: the old Electron of the tests. Packages with it are only for tests, and their names show it. */
  readonly official: boolean
}

/** A long limit, because without Electron there is no app. */
const FETCH_LIMIT_MS = 900_000

/**
 * Finds the Electron of package.json, or fetches it. If it cannot be fetched, the Electron of the tests is used, so that packages can be
 * made and tried everywhere.
 *
 * @throws TargetUnavailable if there is neither
 */
export async function findAppElectron(note: Note, signal: AbortSignal): Promise<AppElectron> {
  try {
    const program = await ensureElectron({ note, signal, limitMs: FETCH_LIMIT_MS, again: true })
    const manifest = readFileSync(join(ROOT, 'node_modules/electron/package.json'), 'utf8')
    const { version } = JSON.parse(manifest) as { version: string }
    return { folder: dirname(program), version, official: true }
  } catch (error) {
    if (!(error instanceof StepError)) throw error
    return await findTestElectron(error.hint ?? error.message, note, signal)
  }
}

async function findTestElectron(why: string, note: Note, signal: AbortSignal): Promise<AppElectron> {
  try {
    await ensureTestElectron(note, signal)
  } catch (error) {
    if (!(error instanceof NoTestElectron)) throw error
    throw new TargetUnavailable(`Electron cannot be fetched (${why}), and ${error.message}`)
  }
  process.stderr.write(
    `\nWARNING: Electron cannot be fetched (${why}). The packages of the desktop app get Electron ${TEST_ELECTRON}, which is years\n` +
      'old: they are for tests on this computer only. Their names say "for-tests". Never give them to anybody.\n\n',
  )
  return { folder: testElectronFolder(), version: TEST_ELECTRON, official: false }
}

/** Copies Electron without its sample app: the Electron of the tests has a launcher, others a welcome page. */
export function copyElectron({ folder }: AppElectron, to: string): void {
  cpSync(folder, to, {
    recursive: true,
    verbatimSymlinks: true,
    filter: source => basename(dirname(source)) !== 'resources' || !/^(app|default_app\.asar)$/.test(basename(source)),
  })
}
