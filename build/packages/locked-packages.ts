import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../bootstrap/image-recipes.ts'

/** An npm package that the product needs at run time. */
export interface LockedPackage {
  readonly name: string
  readonly version: string
  /** Path below the root, e.g. `node_modules/zod`. */
  readonly path: string
  /** SPDX expression from its manifest. */
  readonly license: string
  /** Subresource integrity of its tarball, from the lock file. */
  readonly integrity: string | undefined
}

interface LockEntry {
  readonly version: string
  readonly integrity?: string
  readonly dev?: boolean
  readonly license?: string
}

/**
 * Packages that are never loaded at run time, although a dependency lists them: types, the runtime *Bare*, native code that is not
 * compiled, and Cloudflare's sockets.
 */
const NOT_LOADED = /^(@types\/|bare-|undici-types$|openapi-types$|nan$|cpu-features$|buildcheck$|pg-cloudflare$)/

function lockEntries(): Readonly<Record<string, LockEntry>> {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockEntry>
  }
  return lock.packages
}

/** Entry of the lock file for one of our own dependencies. @throws Error if there is no such package */
export function lockedPackage(name: string): LockEntry {
  const entry = lockEntries()[`node_modules/${name}`]
  if (entry === undefined) throw new Error(`the lock file has no package ${name}`)
  return entry
}

/** The installed packages of the lock file without development tools, in the order of their paths. */
export function lockedPackages(): LockedPackage[] {
  return Object.entries(lockEntries())
    .filter(([path, { dev }]) => path !== '' && !dev && existsSync(join(ROOT, path)))
    .map(([path, { version, integrity, license }]) => {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
      return { name, version, path, integrity, license: license ?? licenseOf(path) }
    })
    .filter(({ name }) => !NOT_LOADED.test(name))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** SPDX expression of the package at a path below the root. */
export function licenseOf(path: string): string {
  const { license, licenses } = JSON.parse(readFileSync(join(ROOT, path, 'package.json'), 'utf8')) as {
    license?: unknown
    /** Format of old packages. */
    licenses?: readonly { type: string }[]
  }
  if (typeof license === 'string') return license
  return licenses?.map(({ type }) => type).join(' OR ') ?? 'NOASSERTION'
}
