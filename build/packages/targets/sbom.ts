import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type LockedPackage, lockedPackage, lockedPackages } from '../locked-packages.ts'
import { MANIFEST } from '../manifest.ts'
import { type Target } from '../target.ts'
import { marked } from './desktop.ts'

/**
 * Bill of materials of the server packages (CycloneDX 1.6), and the list of their licences. Both come from the lock file, so they list the
 * installed packages. The packages of Node and PostgreSQL stand for those programs; libraries inside them are not listed.
 */
export const sbomTarget: Target = {
  name: 'sbom',
  about: 'bill of materials (CycloneDX) and licences of berth-server',
  make({ outDir, seconds }) {
    const packages = lockedPackages()
    const base = join(outDir, `berth-server-${MANIFEST.version}`)
    const files = {
      [`${base}.cdx.json`]: billOfMaterials(packages, seconds),
      [`${base}.licences.txt`]: licences(packages),
    }
    for (const [file, text] of Object.entries(files)) writeFileSync(file, text)
    return Promise.resolve(Object.keys(files))
  },
}

/**
 * Bill of materials of the desktop app, and its licences: Electron, and the npm packages of the main process and of the servers that the
 * app contains. Chromium's own list is in the package (LICENSES.chromium.html).
 */
export const desktopSbomTarget: Target = {
  name: 'desktop-sbom',
  about: 'bill of materials (CycloneDX) and licences of the desktop app',
  async make({ outDir, seconds, desktop }) {
    const app = await desktop()
    const { integrity } = lockedPackage('electron')
    const electron: LockedPackage = {
      ...{ name: 'electron', version: app.electron.version, path: 'node_modules/electron', license: 'MIT' },
      // The lock file pins Electron's package, and the package its binary.
      integrity: app.electron.official ? integrity : undefined,
    }
    const packages = [electron, ...lockedPackages()]
    const base = join(outDir, `berth-desktop-${MANIFEST.version}${marked(app, '')}`)
    const files = {
      [`${base}.cdx.json`]: billOfMaterials(packages, seconds),
      [`${base}.licences.txt`]: licences(packages),
    }
    for (const [file, text] of Object.entries(files)) writeFileSync(file, text)
    return Object.keys(files)
  },
}

/** @see https://cyclonedx.org/docs/1.6/json/ */
export function billOfMaterials(packages: readonly LockedPackage[], seconds: number): string {
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: new Date(seconds * 1000).toISOString(),
      component: {
        type: 'application',
        'bom-ref': purl(MANIFEST),
        name: MANIFEST.name,
        version: MANIFEST.version,
        purl: purl(MANIFEST),
        licenses: [{ expression: MANIFEST.license }],
      },
    },
    components: packages.map(one => ({
      type: 'library',
      'bom-ref': `${purl(one)}#${one.path}`,
      name: one.name,
      version: one.version,
      purl: purl(one),
      licenses: [{ expression: one.license }],
      hashes: hashesOf(one.integrity),
    })),
  }
  return `${JSON.stringify(bill, undefined, 2)}\n`
}

/** The list of licences: one line per package with licence, name and version, sorted by licence. */
function licences(packages: readonly LockedPackage[]): string {
  const lines = packages.map(({ name, version, license }) => `${license}\t${name}\t${version}\n`)
  return [...new Set(lines)].sort().join('')
}

/** @see https://github.com/package-url/purl-spec, type npm: the @ of a scope is escaped */
const purl = ({ name, version }: { name: string; version: string }) => `pkg:npm/${name.replace('@', '%40')}@${version}`

/** Subresource integrity (base64) as hashes of CycloneDX (hex). */
function hashesOf(integrity: string | undefined): { alg: string; content: string }[] {
  const [algorithm = '', base64 = ''] = (integrity ?? '').split('-')
  if (algorithm !== 'sha512') return []
  return [{ alg: 'SHA-512', content: Buffer.from(base64, 'base64').toString('hex') }]
}
