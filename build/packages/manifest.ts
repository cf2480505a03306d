import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../bootstrap/image-recipes.ts'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  /** Only set by a publisher. */
  readonly homepage?: string
  readonly engines: Readonly<Record<string, string>>
  readonly bin: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
  /** The signed list of new versions (ADR 49); only set by a publisher. */
  readonly berthUpdates?: { readonly url: string; readonly publicKey: string }
}

/** package.json of the clone. */
export const MANIFEST = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest

/** package.json of a package: without scripts and tools; dependencies at the versions of the clone. */
export function packageManifest(): Record<string, unknown> {
  const { name, version, description, license, engines, bin, dependencies, optionalDependencies, berthUpdates } =
    MANIFEST
  const updates = berthUpdates ? { berthUpdates } : {}
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    engines,
    bin,
    dependencies,
    optionalDependencies,
    ...updates,
  }
}

/**
 * npm-shrinkwrap.json of a package: the lock file without development tools, so that `npx` installs the same versions, with the same
 * integrity, as a clone.
 */
export function shrinkwrap(): Record<string, unknown> {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>
  }
  const packages = Object.entries(lock.packages).filter(([path, { dev }]) => path !== '' && !dev)
  return { ...lock, packages: { '': packageManifest(), ...Object.fromEntries(packages) } }
}
