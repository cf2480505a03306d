import { MANIFEST } from '../manifest.ts'
import { type Release } from './release.ts'

const PUBLISHER = 'Berth maintainers'
const ID = 'BerthMaintainers.Berth'
const FORMAT = '1.10.0'

type Value = string | number | readonly Value[] | { readonly [name: string]: Value }

/** A file of a package for winget. */
export interface WingetManifest {
  readonly fileName: string
  readonly type: 'version' | 'installer' | 'defaultLocale'
  readonly content: { readonly [name: string]: Value }
}

/**
 * The three files of a version for winget: the version, its installers, its description.
 *
 * @see https://learn.microsoft.com/windows/package-manager/package/manifest, format 1.10
 * @returns nothing without an installer for Windows
 */
export function wingetManifests({ version, homepage, files }: Release): readonly WingetManifest[] {
  const installers = files.filter(({ kind }) => kind === 'exe')
  if (installers.length === 0) return []
  const part = (
    type: WingetManifest['type'],
    ending: string,
    content: { readonly [name: string]: Value },
  ): WingetManifest => ({
    type,
    fileName: `${ID}${ending}.yaml`,
    content: {
      PackageIdentifier: ID,
      PackageVersion: version,
      ...content,
      ManifestType: type,
      ManifestVersion: FORMAT,
    },
  })
  return [
    part('version', '', { DefaultLocale: 'en-US' }),
    part('installer', '.installer', {
      InstallerType: 'nullsoft',
      // Otherwise the installer asks whether to install for one user or for all.
      Scope: 'user',
      InstallerSwitches: { Custom: '/currentuser' },
      InstallModes: ['interactive', 'silent'],
      UpgradeBehavior: 'install',
      Protocols: ['berth'],
      Installers: installers.map(({ arch, url, sha256 }) => ({
        Architecture: arch,
        InstallerUrl: url,
        InstallerSha256: sha256.toUpperCase(),
      })),
    }),
    part('defaultLocale', '.locale.en-US', {
      PackageLocale: 'en-US',
      Publisher: PUBLISHER,
      PackageName: 'Berth',
      PackageUrl: homepage,
      License: MANIFEST.license,
      ShortDescription: 'Desktop console for GPU container sessions',
      Moniker: 'berth',
      Tags: ['gpu', 'container', 'jupyter', 'ssh'],
    }),
  ]
}

/** A manifest as YAML. Texts are quoted as in JSON, which YAML contains, so that none is taken for a number or a date. */
export function wingetYaml({ type, content }: WingetManifest): string {
  const schema = `https://aka.ms/winget-manifest.${type}.${FORMAT}.schema.json`
  return `# yaml-language-server: $schema=${schema}\n${block(content, '')}`
}

function block(content: { readonly [name: string]: Value }, indent: string): string {
  return Object.entries(content)
    .map(([name, value]) => {
      if (typeof value !== 'object') return `${indent}${name}: ${JSON.stringify(value)}\n`
      if (!Array.isArray(value)) return `${indent}${name}:\n${block(value as { [name: string]: Value }, `${indent}  `)}`
      return `${indent}${name}:\n${value.map(one => item(one as Value, indent)).join('')}`
    })
    .join('')
}

/** Item of a list; the first line of an object follows its dash. */
function item(value: Value, indent: string): string {
  if (typeof value !== 'object') return `${indent}- ${JSON.stringify(value)}\n`
  return `${indent}- ${block(value as { [name: string]: Value }, `${indent}  `).trimStart()}`
}
