import { expect, test } from 'vitest'
import { type BrowserDeps, hasBrowser } from './browser.ts'

const BARE: BrowserDeps = {
  platform: 'linux',
  env: { PATH: '/usr/local/bin:/usr/bin' },
  nameFor: () => '',
  isExecutable: () => Promise.resolve(false),
}

test.each<[string, Partial<BrowserDeps>, boolean]>([
  ['a desktop with a browser', { nameFor: scheme => (scheme === 'https' ? 'firefox.desktop' : '') }, true],
  ['no desktop, but a browser on PATH', { isExecutable: file => Promise.resolve(file === '/usr/bin/firefox') }, true],
  ['a browser in a relative folder', { env: { PATH: 'bin' }, isExecutable: () => Promise.resolve(true) }, false],
  ['a choice in the environment', { env: { BROWSER: 'links' } }, true],
  ['a sandbox that hides the programs', { env: { SNAP: '/snap/berth/1' } }, true],
  ['nothing', {}, false],
  ['another system, which tells by itself', { platform: 'win32' }, true],
])('links open on Linux only where there is a browser: %s', async (_title, change, found) => {
  expect(await hasBrowser({ ...BARE, ...change })).toBe(found)
})
