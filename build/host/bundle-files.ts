import { cpSync, existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'

/** Files and folders of Berth's own that an agent and the command line beside it read. */
export const OWN_PARTS = [
  'LICENSE',
  'agent',
  'base',
  'bin',
  'build/bootstrap',
  'build/images',
  'build/toolbox',
  'cli',
  'manager/contract',
  'manager/mcp',
  'manager/tunnel-end',
  'package.json',
  'proxy',
] as const

/** npm packages that these parts load; those of the manager, PostgreSQL among them, stay out. A test compares the list with the imports. */
export const OWN_PACKAGES = [
  '@modelcontextprotocol/server',
  '@peculiar/x509',
  'acme-client',
  'bufferutil',
  'commander',
  'dockerode',
  'eventsource-parser',
  'papaparse',
  'pg',
  'pino',
  'smol-toml',
  'ssh2',
  'tar-stream',
  'ws',
  'yaml',
  'zod',
] as const

/** Copies Berth's own parts, compiled or not, without their tests and documents. */
export function copyOwnParts(root: string, folder: string): void {
  const filter = (path: string) => !/(\.test\.ts|\.md)$|\/tsconfig[^/]*$/.test(path)
  for (const part of OWN_PARTS) {
    if (existsSync(join(root, part))) cpSync(join(root, part), join(folder, part), { recursive: true, filter })
  }
}

/** An installed npm package. */
export interface InstalledPackage {
  readonly name: string
  /** Folder whose `node_modules` contains the package, however deep. */
  readonly base: string
  /** Place below `base`, e.g. `node_modules/zod`. */
  readonly path: string
}

/**
 * The named packages with all that they depend on, as Node would find them from `root`: a clone or a package has them in its own
 * `node_modules`, an installation by npx beside itself. A dependency that is optional may be absent.
 *
 * @throws Error if a named package is not installed
 */
export function installedPackages(root: string, names: readonly string[]): InstalledPackage[] {
  const found = new Map<string, InstalledPackage>()
  const visit = (name: string, from: string): boolean => {
    const at = find(name, from)
    if (at === undefined) return false
    if (found.has(at)) return true
    const base = at.startsWith(join(root, 'node_modules')) ? root : dirname(dirname(root))
    found.set(at, { name, base, path: relative(base, at) })
    const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(at, 'package.json'), 'utf8')) as {
      dependencies?: object
      optionalDependencies?: object
    }
    for (const dependency of Object.keys({ ...dependencies, ...optionalDependencies })) visit(dependency, at)
    return true
  }
  for (const name of names) if (!visit(name, root)) throw new Error(`the npm package ${name} is not installed`)
  return [...found.values()]
}

/** Folder of a package for a module in `from`. @see https://nodejs.org/api/modules.html#loading-from-node_modules-folders */
function find(name: string, from: string): string | undefined {
  for (let at = from; ; at = dirname(at)) {
    const candidate = join(at, 'node_modules', name)
    if (basename(at) !== 'node_modules' && existsSync(join(candidate, 'package.json'))) return candidate
    if (dirname(at) === at) return undefined
  }
}
