import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from './command.ts'
import { ROOT } from './image-recipes.ts'
import { readText } from './platform.ts'
import type { Note } from './progress.ts'

/** Sources of the console. */
const SOURCES = [
  'base',
  'renderer',
  'agent/contract',
  'manager/contract',
  'proxy/contract',
  'build/page-files.ts',
  ...readdirSync(join(ROOT, 'build')).flatMap(name => (/^vite-.*\.ts$/.test(name) ? [`build/${name}`] : [])),
  'vite.config.ts',
  'package-lock.json',
]
const OUTPUT = join(ROOT, 'dist', 'renderer')
/** File that records the sources from which the console was built; written last. */
const STAMP = '.sources'

/** Builds the console unless the existing one was built from these sources. The built page appears atomically, or not at all. */
export async function ensureRenderer(note: Note, signal: AbortSignal): Promise<string> {
  const fingerprint = sourceFingerprint(ROOT, SOURCES)
  if (readText(join(OUTPUT, STAMP)) === fingerprint) return 'already there'
  signal.throwIfAborted()
  const fresh = `${OUTPUT}.new-${String(process.pid)}`
  try {
    const vite = join(ROOT, 'node_modules', 'vite', 'bin', 'vite.js')
    await runCommand(process.execPath, [vite, 'build', '--outDir', fresh, '--emptyOutDir', '--logLevel', 'warn'], {
      cwd: ROOT,
      // Vite keeps a NODE_ENV that is set: below vitest it would build the console with the development build of Vue.
      env: { ...process.env, NODE_ENV: 'production' },
      note,
      signal,
    })
    writeFileSync(join(fresh, STAMP), fingerprint)
    rmSync(OUTPUT, { recursive: true, force: true })
    renameSync(fresh, OUTPUT)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
  return 'built'
}

/** Hash of names and contents of all source files, without tests and documentation. */
export function sourceFingerprint(root: string, sources: readonly string[]): string {
  const hash = createHash('sha256')
  for (const source of sources) {
    for (const file of filesOf(root, source))
      hash
        .update(`${file}\0`)
        .update(readFileSync(join(root, file)))
        .update('\0')
  }
  return hash.digest('hex')
}

function filesOf(root: string, path: string): string[] {
  try {
    return readdirSync(join(root, path), { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile() && !/\.(test\.ts|md|tsbuildinfo)$/.test(entry.name))
      .map(entry => join(entry.parentPath, entry.name).slice(root.length + 1))
      .sort()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOTDIR') return [path]
    if (code === 'ENOENT') return []
    throw error
  }
}
