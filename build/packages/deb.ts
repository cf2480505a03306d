import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from '../bootstrap/command.ts'
import { findProgram } from '../bootstrap/platform.ts'
import { MANIFEST } from './manifest.ts'
import { TargetUnavailable } from './target.ts'
import { normalizeTree, treeOf } from './tree.ts'

export interface SystemPackage {
  readonly name: string
  readonly version: string
  /** First line of the description, and the paragraph below it. */
  readonly summary: string
  readonly description: string
  /** Folder with the files at their paths below `/`; their modes and times are changed. */
  readonly root: string
  readonly seconds: number
}

export interface DebPackage extends SystemPackage {
  /** Section of Debian's archive in which package managers list it. */
  readonly section: 'admin' | 'devel'
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
  const papers = join(root, 'usr', 'share', 'doc', deb.name)
  mkdirSync(papers, { recursive: true })
  writeFileSync(join(papers, 'copyright'), copyrightFile())
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

/** @see https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/ */
function copyrightFile(): string {
  const { license, homepage } = MANIFEST
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Berth
${homepage === undefined ? '' : `Source: ${homepage}\n`}Comment: The package contains programs of others, each with its own licence beside it.

Files: *
Copyright: The Berth authors
License: ${license}

License: ${license}
 The full text is in /usr/share/common-licenses/${license}.
`
}

const MAINTAINER = 'Berth maintainers <maintainers@berth.invalid>'

function controlFile(deb: DebPackage, kibibytes: number): string {
  const { name, version, summary, description, depends, recommends = [], section } = deb
  const fields = {
    Package: name,
    Version: version,
    Architecture: debArchitecture,
    Maintainer: MAINTAINER,
    'Installed-Size': String(kibibytes),
    Depends: depends.join(', '),
    Recommends: recommends.join(', '),
    Section: section,
    Priority: 'optional',
    Homepage: MANIFEST.homepage ?? '',
    Description: `${summary}\n ${description}`,
  }
  return Object.entries(fields)
    .filter(([, value]) => value !== '')
    .map(([field, value]) => `${field}: ${value}\n`)
    .join('')
}
