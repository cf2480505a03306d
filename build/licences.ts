import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './bootstrap/image-recipes.ts'
import { licenseOf, lockedPackages } from './packages/locked-packages.ts'

export interface Licences {
  readonly packages: readonly {
    readonly name: string
    readonly version: string
    readonly license: string
    readonly of: readonly ('page' | 'servers')[]
    readonly text: number | null
  }[]
  readonly texts: readonly string[]
}

/** Folder of the package that a file of `node_modules` belongs to, below the root; undefined for other files. */
export function packageOf(file: string): string | undefined {
  return /(?:^|[\\/])(node_modules[\\/](?:.*[\\/]node_modules[\\/])?(?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/
    .exec(file)?.[1]
    ?.replaceAll('\\', '/')
}

/**
 * Packages of others that Berth ships, with the texts of their licences: those of the servers by the lock file, those of
 * the page by the files that are in it.
 *
 * @param pageFiles paths of the modules that the page is made of
 */
export function licencesOf(pageFiles: Iterable<string>): Licences {
  const inPage = new Set([...pageFiles].flatMap(file => packageOf(file) ?? []))
  const inServers = new Set(lockedPackages().map(({ path }) => path))
  const texts: string[] = []
  const seen = new Map<string, Licences['packages'][number]>()
  for (const path of [...inPage, ...inServers].sort()) {
    const { name, version } = JSON.parse(readFileSync(join(ROOT, path, 'package.json'), 'utf8')) as {
      name: string
      version: string
    }
    const text = textIn(path)
    if (text !== undefined && !texts.includes(text)) texts.push(text)
    // The same version may be installed at several places.
    const known = seen.get(`${name}@${version}`)
    const of = [
      ...(inPage.has(path) || known?.of.includes('page') ? ['page' as const] : []),
      ...(inServers.has(path) || known?.of.includes('servers') ? ['servers' as const] : []),
    ]
    const place = text === undefined ? null : texts.indexOf(text)
    seen.set(`${name}@${version}`, { name, version, license: licenseOf(path), of, text: place })
  }
  return { packages: [...seen.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), texts }
}

function textIn(path: string): string | undefined {
  const file = readdirSync(join(ROOT, path)).find(name => /^(?:licen[sc]e|copying)(?:[.-]|$)/i.test(name))
  return file === undefined ? undefined : readFileSync(join(ROOT, path, file), 'utf8').trim()
}
