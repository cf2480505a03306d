import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from '../bootstrap/command.ts'
import { findProgram } from '../bootstrap/platform.ts'
import { type SystemPackage } from './deb.ts'
import { MANIFEST } from './manifest.ts'
import { TargetUnavailable } from './target.ts'
import { normalizeTree } from './tree.ts'

export interface RpmPackage extends SystemPackage {
  readonly requires: readonly string[]
  /** Scriptlets by name: post, preun, postun. */
  readonly scripts?: Readonly<Record<string, string>>
  /** Paths that belong to the package; other directories belong to the system. */
  readonly owns: readonly string[]
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' }
export const rpmArchitecture = ARCHITECTURES[process.arch] ?? process.arch

/** Makes an .rpm with rpmbuild. */
export async function buildRpm(rpm: RpmPackage, workDir: string, file: string): Promise<void> {
  if (findProgram('rpmbuild') === undefined) throw new TargetUnavailable('rpmbuild is missing (apt-get install rpm)')
  mkdirSync(workDir, { recursive: true })
  normalizeTree(rpm.root, rpm.seconds)
  const spec = join(workDir, `${rpm.name}.spec`)
  writeFileSync(spec, specFile(rpm))
  await runCommand(
    'rpmbuild',
    ['-bb', '--quiet', '--define', `_topdir ${workDir}`, '--buildroot', join(workDir, 'root'), spec],
    {
      env: { ...process.env, SOURCE_DATE_EPOCH: String(rpm.seconds) },
    },
  )
  const made = join(workDir, 'RPMS', rpmArchitecture)
  const [name] = readdirSync(made)
  if (name === undefined) throw new Error('rpmbuild made no package')
  copyFileSync(join(made, name), file)
}

/** The definitions above `Name` make two builds equal, and keep rpm from changing programs (build ids, stripping, byte code). */
function specFile(rpm: RpmPackage): string {
  const { name, version, summary, description, root, requires, scripts = {}, owns } = rpm
  return `%global source_date_epoch_from_changelog 0
%global use_source_date_epoch_as_buildtime 1
%global clamp_mtime_to_source_date_epoch 1
%global _buildhost reproducible
%global _build_id_links none
%global __os_install_post %{nil}
%global debug_package %{nil}
%global _binary_payload w12.zstdio
Name: ${name}
Version: ${version}
Release: 1
Summary: ${summary}
License: ${MANIFEST.license}
AutoReqProv: no
${requires.map(one => `Requires: ${one}\n`).join('')}
%description
${description}

%install
mkdir -p %{buildroot}
cp -a ${root}/. %{buildroot}/

%files
%defattr(-,root,root)
${owns.join('\n')}
${Object.entries(scripts)
  .map(([step, body]) => `\n%${step}\n${body}\n`)
  .join('')}`
}
