import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPackage } from '@electron/asar'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MANIFEST } from '../manifest.ts'
import { normalizeTree } from '../tree.ts'
import { builderConfig } from './builder-config.ts'
import { testElectronFolder } from '../../bootstrap/test-electron.ts'
import { DESKTOP_PRODUCT } from '../targets/desktop.ts'
import { checkApp } from './check-app.ts'
import { FUSES, fusesOf } from './fuses.ts'
import { librariesWithoutPackage } from './libraries.ts'
import {
  APP_FOLDER,
  DESKTOP_DEB_SCRIPTS,
  DESKTOP_RPM_SCRIPTS,
  layOutSystem,
  metainfo,
  SYSTEM_FILES,
} from './system-files.ts'

let root: string
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'berth-desktop-package-'))))
afterEach(() => rmSync(root, { recursive: true }))

/** Marks Electron's program has before its fuses (@electron/fuses), with their version and number. */
const SENTINEL = 'dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX'

/** A folder that looks like an unpacked app, with fuses as in the characters of `wire`. */
async function anApp(wire: string): Promise<string> {
  const folder = join(root, 'app')
  const source = join(root, 'source')
  for (const path of [join(folder, 'resources'), source]) mkdirSync(path, { recursive: true })
  writeFileSync(join(folder, 'berth-desktop'), `${SENTINEL}\x01${String.fromCharCode(wire.length)}${wire}`, {
    mode: 0o755,
  })
  writeFileSync(join(folder, 'chrome-sandbox'), '', { mode: 0o755 })
  writeFileSync(join(source, 'package.json'), '{"name":"a"}')
  await createPackage(source, join(folder, 'resources/app.asar'))
  return folder
}

test('every library that a program names is brought by a package that ours depends on; others are told', () => {
  const program = join(root, 'program')
  const names = ['libX11-xcb.so.1', 'libgtk-3.so.0', 'libffmpeg.so', 'libnew.so.2', 'not/a/libname.so']
  writeFileSync(program, `\0${names.join('\0')}\0`)
  expect(librariesWithoutPackage(program)).toEqual(['libnew.so.2'])
  const electron = join(testElectronFolder(), 'electron')
  if (existsSync(electron)) expect(librariesWithoutPackage(electron)).toEqual([])
  expect(DESKTOP_PRODUCT.deb.depends).toContain('libx11-xcb1')
  expect(DESKTOP_PRODUCT.rpm.requires).toContain('libX11-xcb')
})

const CLOSED = '0100110'

test('an app is read back: fuses, the hashes of its archive, its size', async () => {
  const facts = await checkApp(await anApp(CLOSED))
  expect(facts.fuses).toEqual(fusesOf('25.1.1'))
  expect(facts.asarHash).toMatch(/^[0-9a-f]{64}$/)
})

test.each([
  ['a fuse that is open', '1100110', 'runAsNode is on'],
  ['a program whose fuses cannot be read', '', 'no fuses'],
])('%s is refused', async (_, wire, message) => {
  await expect(checkApp(await anApp(wire))).rejects.toThrow(message)
})

test('an archive with a changed file, and a second app beside it, are refused', async () => {
  const folder = await anApp(CLOSED)
  const archive = join(folder, 'resources/app.asar')
  writeFileSync(archive, readFileSync(archive, 'latin1').replace('{"name":"a"}', '{"name":"b"}'), 'latin1')
  await expect(checkApp(folder)).rejects.toThrow('/package.json of app.asar does not have its hash')
  mkdirSync(join(folder, 'resources/app'))
  await expect(checkApp(folder)).rejects.toThrow('a second app')
})

test('every switch of Electron that opens the app to other code is closed in the configuration', () => {
  const input = { app: '/a', electronDist: '/e', electronVersion: '45.3.4', output: '/o', programs: undefined }
  expect(builderConfig(input)).toMatchObject({ electronFuses: FUSES, asar: true, extraResources: [] })
  expect(fusesOf(MANIFEST.devDependencies['electron'] ?? '')).toEqual(FUSES)
})

test('the installed system has the app, its entry and icons, and one program that runs as root', async () => {
  const system = join(root, 'system')
  layOutSystem(await anApp(CLOSED), system)
  normalizeTree(system, 0)
  for (const file of SYSTEM_FILES) expect(lstatSync(join(system, file), { throwIfNoEntry: false }), file).toBeDefined()
  expect(existsSync(join(system, '/usr/bin/berth-desktop'))).toBe(true)
  expect(statSync(join(system, APP_FOLDER, 'chrome-sandbox')).mode & 0o7777).toBe(0o4755)
  expect(statSync(join(system, APP_FOLDER, 'berth-desktop')).mode & 0o7777).toBe(0o755)
  expect(readFileSync(join(system, SYSTEM_FILES[1]), 'utf8')).toContain('MimeType=x-scheme-handler/berth;')
  const about = readFileSync(join(system, SYSTEM_FILES[4]), 'utf8')
  expect(about).toContain('<launchable type="desktop-id">berth-desktop.desktop</launchable>')
})

test('a publisher names the homepage of the app', () => {
  expect(metainfo({ license: 'Apache-2.0' })).not.toContain('<url')
  const named = metainfo({ license: 'Apache-2.0', homepage: 'https://berth.example/?a=1&b=2' })
  expect(named).toContain('<url type="homepage">https://berth.example/?a=1&amp;b=2</url>')
})

test.each(Object.entries({ ...DESKTOP_DEB_SCRIPTS, ...DESKTOP_RPM_SCRIPTS }))(
  'the script %s is one for sh, and removes only the profile',
  (_, text) => {
    execFileSync('sh', ['-n'], { input: text })
    for (const [line] of text.matchAll(/\brm .*/g)) expect(line).toBe('rm -f /etc/apparmor.d/berth-desktop')
  },
)
