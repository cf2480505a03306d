import { createHash } from 'node:crypto'
import { access, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from './command.ts'
import { ROOT } from './image-recipes.ts'
import { readText } from './platform.ts'
import { StepError, type Note } from './progress.ts'
import { sourceFingerprint } from './renderer.ts'

/** Sources of the desktop app besides the page. */
const SOURCES = [
  'base',
  'electron',
  'proxy',
  'manager/contract',
  'manager/tunnel-end',
  'electron.vite.config.ts',
  'package-lock.json',
]
const OUTPUT = join(ROOT, 'dist', 'electron')
const STAMP = join(OUTPUT, '.sources')
/** Time limit of the download of about 110 MB, in `npm start`; `npm run desktop` waits longer. */
export const FETCH_LIMIT_MS = 120_000

/** Bundles main process and preload script unless the existing bundle was made from these sources. */
export async function ensureDesktopBundle(note: Note, signal: AbortSignal): Promise<string> {
  const fingerprint = sourceFingerprint(ROOT, SOURCES)
  if (readText(STAMP) === fingerprint) return 'already there'
  await runCommand(process.execPath, [join(ROOT, 'build', 'build.ts'), 'electron'], { cwd: ROOT, note, signal })
  await mkdir(OUTPUT, { recursive: true })
  await writeFile(STAMP, fingerprint)
  return 'built'
}

export interface ElectronDeps {
  readonly note: Note
  readonly signal: AbortSignal
  readonly limitMs: number
  /** False: a version whose download failed once is not tried again, unless the network's proxy has changed since. */
  readonly again: boolean
  /** Folder of Electron's package. */
  readonly folder?: string
  readonly env?: NodeJS.ProcessEnv
}

/**
 * Fetches the official Electron of package.json by the script of its package, which checks it against the hashes in the package. The
 * package itself fetches nothing when it is installed.
 *
 * @returns the path of the program
 * @throws StepError that says why there is none
 */
export async function ensureElectron(deps: ElectronDeps): Promise<string> {
  const { note, signal, limitMs, again, folder = join(ROOT, 'node_modules', 'electron'), env = process.env } = deps
  const there = await electronProgram(folder)
  if (there !== undefined) return there
  const failed = join(folder, '.fetch-failed')
  const proxy = proxyVariables(env)
  const network = createHash('sha256').update(JSON.stringify(proxy)).digest('hex')
  const [failedWith, ...before] = again ? [] : (readText(failed)?.split('\n') ?? [])
  if (failedWith === network) throw new StepError('not fetched', before.join('\n'))
  const limit = AbortSignal.timeout(limitMs)
  note('fetching (about 110 MB)')
  try {
    const script = join(folder, 'install.js')
    await runCommand(process.execPath, ['--import', TELL_CAUSE, script], {
      note,
      signal: AbortSignal.any([signal, limit]),
      env: { ...env, ...proxy, NODE_USE_ENV_PROXY: '1' },
    })
  } catch (error) {
    signal.throwIfAborted()
    const why = limit.aborted ? `no answer within ${limitMs / 1000} s` : reasonOf(error)
    await writeFile(failed, `${network}\n${why}`)
    throw new StepError('could not be fetched', why, { cause: error })
  }
  await rm(failed, { force: true })
  const program = await electronProgram(folder)
  if (program === undefined) throw new StepError('could not be fetched', 'The download has left no program.')
  return program
}

/** The program of an Electron that was fetched. Importing the package would start a download, so its files are read instead. */
async function electronProgram(folder: string): Promise<string | undefined> {
  const override = process.env.ELECTRON_OVERRIDE_DIST_PATH
  try {
    const name = override === undefined ? (await readFile(join(folder, 'path.txt'), 'utf8')).trim() : 'electron'
    const program = join(override ?? join(folder, 'dist'), name)
    await access(program)
    return program
  } catch {
    return undefined // not fetched yet
  }
}

/** Variables for the network's proxy; Node uses a proxy only if told to. npm passes its own proxy settings to scripts as variables. */
function proxyVariables(env: NodeJS.ProcessEnv): Record<string, string> {
  const found = {
    HTTP_PROXY: env.HTTP_PROXY ?? env.http_proxy ?? env.npm_config_proxy,
    HTTPS_PROXY: env.HTTPS_PROXY ?? env.https_proxy ?? env.npm_config_https_proxy ?? env.npm_config_proxy,
    NO_PROXY: env.NO_PROXY ?? env.no_proxy ?? env.npm_config_noproxy,
  }
  return Object.fromEntries(
    Object.entries(found).flatMap(([name, value]) => (value === undefined || value === '' ? [] : [[name, value]])),
  )
}

/** Module that makes `fetch` fail with the reason: the script prints the error, “fetch failed”, without its cause. */
const TELL_CAUSE = `data:text/javascript,${encodeURIComponent(`
  const innermost = error => (error.cause instanceof Error ? innermost(error.cause) : error)
  const send = fetch
  globalThis.fetch = (...given) => send(...given).catch(error => Promise.reject(innermost(error)))
`)}`

/** The first line of a stack trace that npm's scripts print. */
function reasonOf(error: unknown): string {
  const output = error instanceof StepError ? (error.hint ?? '') : String(error)
  return /^.*Error: .*$/m.exec(output)?.[0] ?? output.split('\n')[0] ?? ''
}
