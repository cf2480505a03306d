import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from '../bootstrap/command.ts'
import { findProgram } from '../bootstrap/platform.ts'
import { TargetUnavailable } from './target.ts'
import { normalizeTree, treeOf } from './tree.ts'

export interface SystemPackage {
  readonly name: string
  readonly version: string
  /** First line of the description, and the paragraph below it. */
  readonly summary: string
  readonly description: string
  /** Folder with the files at their places below `/`; its modes and times are changed. */
  readonly root: string
  readonly seconds: number
}

export interface DebPackage extends SystemPackage {
  readonly depends: readonly string[]
  readonly recommends?: readonly string[]
  /** Maintainer scripts by name. */
  readonly scripts?: Readonly<Record<string, string>>
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }
export const debArchitecture = ARCHITECTURES[process.arch] ?? process.arch

/** Makes a .deb with dpkg-deb. */
export async function buildDeb(deb: DebPackage, file: string): Promise<void> {
  if (findProgram('dpkg-deb') === undefined) throw new TargetUnavailable('dpkg-deb is missing (apt-get install dpkg)')
  const { root, seconds } = deb
  const bytes = treeOf(root).reduce((sum, { size }) => sum + size, 0)
  const control = join(root, 'DEBIAN')
  mkdirSync(control)
  writeFileSync(join(control, 'control'), controlFile(deb, Math.ceil(bytes / 1024)))
  for (const [name, text] of Object.entries(deb.scripts ?? {}))
    writeFileSync(join(control, name), text, { mode: 0o755 })
  normalizeTree(root, seconds)
  // zstd, which dpkg reads since Debian 12 and Ubuntu 22.04: a tenth of the time of xz. One thread, because threads could change the bytes.
  await runCommand('dpkg-deb', ['--root-owner-group', '-Zzstd', '-z12', '--threads-max=1', '--build', root, file], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(seconds) },
  })
}

function controlFile(deb: DebPackage, kibibytes: number): string {
  const { name, version, summary, description, depends, recommends = [] } = deb
  const fields = {
    Package: name,
    Version: version,
    Architecture: debArchitecture,
    Maintainer: 'Berth maintainers <maintainers@berth.invalid>',
    'Installed-Size': String(kibibytes),
    Depends: depends.join(', '),
    Recommends: recommends.join(', '),
    Section: 'net',
    Priority: 'optional',
    Description: `${summary}\n ${description}`,
  }
  return Object.entries(fields)
    .filter(([, value]) => value !== '')
    .map(([field, value]) => `${field}: ${value}\n`)
    .join('')
}
