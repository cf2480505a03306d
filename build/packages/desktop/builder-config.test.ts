import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Configuration } from 'electron-builder'
import { afterEach, expect, test, vi } from 'vitest'
import { describeFile } from '../../updates/sign.ts'
import { UpdateFile } from '../../../proxy/updates/manifest.ts'
import { MANIFEST } from '../manifest.ts'
import { builderConfig } from './builder-config.ts'

/** The check that electron-builder makes before it builds, against its own schema. */
const builder = createRequire(createRequire(import.meta.url).resolve('electron-builder'))
const { validateConfiguration } = builder('app-builder-lib/out/util/config/config.js') as {
  validateConfiguration(config: object, debug: { readonly isEnabled: boolean }): Promise<void>
}
const validate = (config: object) => validateConfiguration(config, { isEnabled: false })

const config = (programs?: string): Configuration =>
  builderConfig({ app: '/a', electronDist: '/e', electronVersion: '45.3.4', output: '/o', programs })

afterEach(() => vi.unstubAllEnvs())

test.each([
  ['macOS and Windows, which have no servers', undefined, undefined],
  ['Linux, with the servers', '/programs.tar.gz', undefined],
  ['a maker with a certificate for macOS', undefined, 'TEAM'],
])('electron-builder accepts the configuration for %s', async (_, programs, team) => {
  vi.stubEnv('APPLE_TEAM_ID', team)
  const made = config(programs)
  await validate(made)
  expect(made.mac).toMatchObject({ hardenedRuntime: true, notarize: team !== undefined })
  // Each system has its installer.
  const targets = { linux: ['AppImage'], mac: ['dmg', 'zip'], win: ['nsis'] } as const
  for (const [system, kinds] of Object.entries(targets))
    expect(made[system as keyof typeof targets]).toMatchObject({ target: kinds })
})

test.each([
  ['a setting that does not exist', { nsis: { perUser: true } }],
  ['a value of the wrong type', { mac: { hardenedRuntime: 'yes please' } }],
])('the check refuses %s', async (_, wrong) => {
  await expect(validate({ ...config(), ...wrong })).rejects.toThrow('Invalid configuration object')
})

test('the icon is large enough for every system', () => {
  const { linux, mac, win } = config()
  for (const icon of [linux?.icon, mac?.icon, win?.icon]) {
    // A PNG has width and height, four bytes each, at byte 16.
    const png = readFileSync(icon ?? '')
    expect([png.toString('latin1', 1, 4), png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual(['PNG', 512, 512])
  }
})

test('each installer has a name that a list of updates can carry, with its system and processor', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-installers-'))
  try {
    for (const [os, ext, platform] of [
      ['mac', 'dmg', 'darwin'],
      ['win', 'exe', 'win32'],
      ['linux', 'AppImage', 'linux'],
    ] as const)
      for (const arch of ['x64', 'arm64']) {
        const values: Readonly<Record<string, string>> = { version: MANIFEST.version, os, arch, ext }
        const name = (config().artifactName ?? '').replaceAll(/\$\{(\w+)\}/g, (_, key: string) => values[key] ?? '?')
        const path = join(folder, name)
        writeFileSync(path, 'installer')
        expect(UpdateFile.parse(await describeFile(path))).toMatchObject({ platform, arch, kind: ext, name })
      }
  } finally {
    rmSync(folder, { recursive: true })
  }
})
