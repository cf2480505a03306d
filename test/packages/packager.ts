import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { buildRpm } from '../../build/packages/rpm.ts'
import { type SystemProduct } from '../../build/packages/targets/system-targets.ts'
import { root } from '../fixtures/berth.ts'
import { type FreshRoot } from './fresh-root.ts'

export const NEXT_VERSION = '99.0.0'

/** A package manager inside a fresh root with the packages at /packages. */
export interface Packager {
  readonly ending: 'deb' | 'rpm'
  /** Installs a package, or upgrades to it. */
  install(system: FreshRoot, file: string): Promise<unknown>
  /** Name and version of the installed package; the empty text if there is none. */
  installed(system: FreshRoot, name: string): Promise<string>
  remove(system: FreshRoot, name: string): Promise<unknown>
  /**
   * Makes a package again as a later version.
   *
   * @param change called with the folder of the package's files
   */
  remake(product: RemadeProduct, from: string, to: string, change: (root: string) => Promise<void>): Promise<void>
}

/** Facts that cannot be read from an .rpm but are needed to make it again. */
export interface RemadeProduct {
  readonly name: string
  readonly rpm: SystemProduct['rpm']
}

/** The package from `npm run package`, which `npm run test:packages` runs first. */
export function madePackage(name: string, ending: string): string {
  const folder = join(root, 'dist', 'packages')
  const found = readdirSync(folder).find(file => file.startsWith(name) && file.endsWith(`.${ending}`))
  if (found === undefined) throw new Error(`there is no ${ending} of ${name}: npm run package makes it`)
  return join(folder, found)
}

export const deb: Packager = {
  ending: 'deb',
  install: ({ shell }, file) =>
    shell(`DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends /packages/${file}`),
  installed: ({ shell }, name) =>
    shell(`dpkg-query -W -f '\${db:Status-Abbrev}\${Version}' ${name} 2>/dev/null | sed -n 's/^ii *//p'`),
  remove: ({ shell }, name) => shell(`apt-get remove -y -q ${name}`),
  async remake(_, from, to, change) {
    const folder = `${to}.files`
    execFileSync('dpkg-deb', ['-R', from, folder])
    await change(folder)
    const control = join(folder, 'DEBIAN/control')
    writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*/m, `Version: ${NEXT_VERSION}`))
    execFileSync('dpkg-deb', ['--root-owner-group', '-Zgzip', '-z1', '-b', folder, to])
    rmSync(folder, { recursive: true })
  },
}

/**
 * rpm inside of a Debian: its own database, scriptlets and checks are real, the system below is not one of its kind. So nothing that the
 * package requires is known to it, and the packages of Debian stand for them.
 */
export const rpm: Packager = {
  ending: 'rpm',
  async install({ shell }, file) {
    const command = `rpm --upgrade /packages/${file}`
    // The missing packages are those that the package requires, and nothing else.
    const required = (await shell(`rpm --query --requires --package /packages/${file} | grep -v '^rpmlib('`)).trim()
    const refused = await shell(`${command} 2>&1 && exit 1 || true`)
    const missing = [...refused.matchAll(/^\s+(.+) is needed by /gm)].map(([, one]) => one)
    expect(new Set(missing)).toEqual(new Set(required.split('\n')))
    // A scriptlet that fails is a warning to rpm.
    expect(await shell(`${command} --nodeps`)).not.toContain('scriptlet failed')
  },
  installed: ({ shell }, name) =>
    shell(`! rpm --query --quiet ${name} || rpm --query --queryformat '%{VERSION}' ${name}`),
  remove: ({ shell }, name) => shell(`rpm --erase ${name}`),
  async remake({ name, rpm: about }, from, to, change) {
    const work = `${to}.work`
    const files = join(work, 'files')
    mkdirSync(files, { recursive: true })
    execFileSync('sh', ['-ec', `rpm2archive - <'${from}' | tar -xz -C '${files}'`])
    await change(files)
    await buildRpm(
      { name, version: NEXT_VERSION, summary: name, description: name, root: files, seconds: 0, ...about },
      join(work, 'rpmbuild'),
      to,
    )
    rmSync(work, { recursive: true })
  },
}

/** Changes the servers in a package's folder to the next version. */
export async function asNextServer(folder: string): Promise<void> {
  setVersion(join(folder, 'usr/lib/berth/package.json'))
  await Promise.resolve()
}

function setVersion(file: string): void {
  const about = { ...(JSON.parse(readFileSync(file, 'utf8')) as object), version: NEXT_VERSION }
  writeFileSync(file, JSON.stringify(about))
}
