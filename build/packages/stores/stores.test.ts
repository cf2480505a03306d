import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { findProgram } from '../../bootstrap/platform.ts'
import { homebrewCask } from './homebrew.ts'
import { readRelease, type Release } from './release.ts'
import { wingetManifests, wingetYaml } from './winget.ts'

const folder = mkdtempSync(join(tmpdir(), 'berth-stores-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A YAML reader from another project: electron-builder's. */
const builder = createRequire(createRequire(import.meta.url).resolve('electron-builder'))
const { load } = builder('js-yaml') as { load(text: string): unknown }

const about = { version: '0.2.0', url: 'https://example.org/berth/0.2.0', homepage: 'https://example.org/' }
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
/** Writes installers whose content is their name. */
const written = (...names: string[]) =>
  names.map(name => {
    writeFileSync(join(folder, name), name)
    return join(folder, name)
  })
const MAC = ['berth-desktop-0.2.0-mac-arm64.dmg', 'berth-desktop-0.2.0-mac-x64.dmg'] as const
const WINDOWS = ['berth-desktop-0.2.0-win-arm64.exe', 'berth-desktop-0.2.0-win-x64.exe'] as const
let release: Release
beforeAll(async () => {
  release = await readRelease(about, written(...MAC, ...WINDOWS, 'berth-desktop_0.2.0_amd64.deb'))
})

/** Rules of the published JSON schemas of winget's format 1.10 for the fields that we write. Any other field is a mistake of ours. */
const head = {
  PackageIdentifier: z
    .string()
    .max(128)
    .regex(/^[^.\s\\/:*?"<>|]{1,32}(\.[^.\s\\/:*?"<>|]{1,32}){1,7}$/),
  PackageVersion: z
    .string()
    .max(128)
    .regex(/^[^\\/:*?"<>|]+$/),
  ManifestVersion: z.literal('1.10.0'),
}
const Locale = z
  .string()
  .max(20)
  .regex(/^([a-zA-Z]{2,3}|[iI]-[a-zA-Z]+|[xX]-[a-zA-Z]{1,8})(-[a-zA-Z]{1,8})*$/)
const Address = z
  .string()
  .max(2048)
  .regex(/^https:\/\/.+$/)
const WINGET: Readonly<Record<string, z.ZodType>> = {
  'BerthMaintainers.Berth.yaml': z.strictObject({ ...head, DefaultLocale: Locale, ManifestType: z.literal('version') }),
  'BerthMaintainers.Berth.installer.yaml': z.strictObject({
    ...head,
    InstallerType: z.enum(['msix', 'msi', 'appx', 'exe', 'zip', 'inno', 'nullsoft', 'wix', 'burn', 'pwa', 'portable']),
    Scope: z.enum(['user', 'machine']),
    InstallerSwitches: z.strictObject({ Custom: z.string().min(1).max(2048) }),
    InstallModes: z.array(z.enum(['interactive', 'silent', 'silentWithProgress'])).max(3),
    UpgradeBehavior: z.enum(['install', 'uninstallPrevious', 'deny']),
    Protocols: z.array(z.string().max(2048)).max(64),
    Installers: z
      .array(
        z.strictObject({
          Architecture: z.enum(['x86', 'x64', 'arm', 'arm64', 'neutral']),
          InstallerUrl: Address,
          InstallerSha256: z.string().regex(/^[A-Fa-f0-9]{64}$/),
        }),
      )
      .min(1)
      .max(1024),
    ManifestType: z.literal('installer'),
  }),
  'BerthMaintainers.Berth.locale.en-US.yaml': z.strictObject({
    ...head,
    PackageLocale: Locale,
    Publisher: z.string().min(2).max(256),
    PackageName: z.string().min(2).max(256),
    PackageUrl: Address,
    License: z.string().min(3).max(512),
    ShortDescription: z.string().min(3).max(256),
    Moniker: z.string().min(1).max(40),
    Tags: z.array(z.string().min(1).max(40)).max(16),
    ManifestType: z.literal('defaultLocale'),
  }),
}

test('the files for winget have the published form, and name each installer with its address and hash', () => {
  const manifests = wingetManifests(release)
  expect(manifests.map(({ fileName }) => fileName)).toEqual(Object.keys(WINGET))
  for (const manifest of manifests) {
    const read = load(wingetYaml(manifest))
    expect(read).toEqual(manifest.content)
    expect(() => WINGET[manifest.fileName]?.parse(read)).not.toThrow()
  }
  expect(manifests[1]?.content['Installers']).toEqual(
    WINDOWS.map(name => ({
      Architecture: name.includes('arm64') ? 'arm64' : 'x64',
      InstallerUrl: `https://example.org/berth/0.2.0/${name}`,
      InstallerSha256: sha256(name).toUpperCase(),
    })),
  )
})

test('the cask of Homebrew has the address and the hash for each processor, and nothing but a zap removes data', () => {
  const cask = homebrewCask(release) ?? ''
  expect(cask).toContain('url "https://example.org/berth/0.2.0/berth-desktop-#{version}-mac-#{arch}.dmg"')
  expect(cask).toMatch(new RegExp(`sha256 arm: +"${sha256(MAC[0])}",\n +intel: "${sha256(MAC[1])}"`))
  expect(cask).not.toMatch(/uninstall|flight/)
  if (findProgram('ruby') !== undefined)
    expect(spawnSync('ruby', ['-c'], { input: cask, encoding: 'utf8' })).toMatchObject({ status: 0 })
})

test('a version for one processor says so in the cask, and nothing is made of what is missing', async () => {
  const one = await readRelease(about, [join(folder, MAC[0])])
  const cask = homebrewCask(one) ?? ''
  expect(cask).toContain('depends_on arch: :arm64')
  expect(cask).toContain('berth-desktop-#{version}-mac-arm64.dmg"')
  expect(wingetManifests(one)).toEqual([])
  expect(homebrewCask({ ...one, files: [] })).toBeUndefined()
})

// Checks the code, not zod's text: other tests in the process may have changed the texts.
test.each([
  ['an address without https', { ...about, url: 'http://example.org/' }, [MAC[0]], 'invalid_format'],
  ['an address that is no address', { ...about, homepage: '"#{system("x")}' }, [MAC[0]], 'invalid_format'],
  ['an installer of another version', { ...about, version: '0.3.0' }, [MAC[0]], 'not of version 0.3.0'],
  ['an installer that is named twice', about, [MAC[0], MAC[0]], 'there twice'],
])('%s is refused', async (_, wrong, names, why) => {
  await expect(readRelease(wrong, written(...names))).rejects.toThrow(why)
})

test('an address cannot become Ruby', async () => {
  const cask = homebrewCask(
    await readRelease({ ...about, url: 'https://example.org/#{`x`}/"' }, [join(folder, MAC[0])]),
  )
  expect(cask?.replaceAll('#{version}', '')).not.toContain('#{')
})
