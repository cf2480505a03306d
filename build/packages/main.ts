import { mkdirSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { ROOT } from '../bootstrap/image-recipes.ts'
import { createProgress, StepError } from '../bootstrap/progress.ts'
import { ensureRenderer } from '../bootstrap/renderer.ts'
import { sourceDate } from './source-date.ts'
import { stageProgram } from './stage-program.ts'
import { stageRuntime } from './stage-runtime.ts'
import { type PackageWork, type Target, TargetUnavailable } from './target.ts'
import { treeOf } from './tree.ts'
import { npmTarget } from './targets/npm.ts'
import { packApp, prepareApp } from './desktop/pack-app.ts'
import { desktopFolderTarget, desktopTargets, desktopTarTarget } from './targets/desktop.ts'
import { imageTarget } from './targets/image.ts'
import { installerTarget } from './targets/installer.ts'
import { desktopSbomTarget, sbomTarget } from './targets/sbom.ts'
import { serverTargets, serverTarTarget } from './targets/server.ts'

/**
 * Makes packages in dist/packages: `npm run package [-- TARGET…]`. Without names, it makes everything that this computer can make. The file
 * names are printed on standard output.
 */
const TARGETS: readonly Target[] = [
  npmTarget,
  serverTarTarget,
  serverTargets.deb,
  serverTargets.rpm,
  imageTarget,
  sbomTarget,
  desktopFolderTarget,
  desktopTarTarget,
  desktopTargets.deb,
  desktopTargets.rpm,
  installerTarget,
  desktopSbomTarget,
]
const OUT = join(ROOT, 'dist', 'packages')

const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort(new Error('interrupted')))
process.exitCode = await main(process.argv.slice(2))

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.find(name => !TARGETS.some(target => target.name === name))
  if (unknown !== undefined) {
    const known = TARGETS.map(({ name, about }) => `  ${name.padEnd(17)} ${about}\n`).join('')
    process.stderr.write(`${unknown === '--help' ? '' : `There is no target "${unknown}". `}Targets:\n${known}`)
    return unknown === '--help' ? 0 : 2
  }
  const chosen = names.length === 0 ? TARGETS : TARGETS.filter(({ name }) => names.includes(name))
  const { isTTY: terminal, columns } = process.stderr
  const progress = createProgress({ write: text => process.stderr.write(text), terminal, columns })
  const stageDir = join(OUT, `.stage-${String(process.pid)}`)
  mkdirSync(stageDir, { recursive: true })
  try {
    await progress.step('Console', note => ensureRenderer(note, stop.signal))
    const shared = sharedWork(stageDir)
    const missing: string[] = []
    for (const target of chosen) {
      stop.signal.throwIfAborted()
      await progress.step(target.name, async note => {
        try {
          return describeFiles(await target.make({ ...shared, note }))
        } catch (error) {
          if (!(error instanceof TargetUnavailable)) throw error
          missing.push(target.name)
          return `not made: ${error.message}`
        }
      })
    }
    // A target requested by name must be made.
    return names.length > 0 && missing.length > 0 ? 1 : 0
  } catch (error) {
    if (stop.signal.aborted) return 130
    const stack = error instanceof Error ? error.stack : String(error)
    process.stderr.write(`${error instanceof StepError ? (error.hint ?? error.message) : stack}\n`)
    return 1
  } finally {
    rmSync(stageDir, { recursive: true, force: true })
  }
}

function describeFiles(files: readonly string[]): string {
  for (const file of files) process.stdout.write(`${file}\n`)
  return files.map(file => `${basename(file)} ${(sizeOf(file) / 1e6).toFixed(1)} MB`).join(', ')
}

/** Bytes of a file, or of all files below a folder. */
function sizeOf(path: string): number {
  const found = statSync(path)
  return found.isDirectory() ? treeOf(path).reduce((sum, { size }) => sum + size, 0) : found.size
}

function sharedWork(stageDir: string): Omit<PackageWork, 'note'> {
  const program = once(async () => {
    const folder = join(stageDir, 'program')
    await stageProgram(folder)
    return folder
  })
  const runtime = once(async () => {
    const folder = join(stageDir, 'runtime')
    await stageRuntime(await program(), folder)
    return folder
  })
  const seconds = sourceDate()
  const { signal } = stop
  const prepared = once(() => prepareApp({ stageDir, seconds, runtime, signal }))
  const desktop = once(async () => packApp(await prepared()))
  return { outDir: OUT, stageDir, seconds, signal, program, runtime, prepared, desktop }
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => (made ??= make())
}
