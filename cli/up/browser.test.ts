import { expect, test } from 'vitest'
import { hasDisplay } from './browser.ts'

test.each([
  ['linux', {}, false],
  ['linux', { DISPLAY: '' }, false],
  ['linux', { DISPLAY: '', WAYLAND_DISPLAY: 'wayland-0' }, true],
  ['linux', { DISPLAY: ':0' }, true],
  ['darwin', {}, true],
] as const)('on %s with %j a person may sit at the screen: %s', (platform, env, is) => {
  expect(hasDisplay(env, platform)).toBe(is)
})
