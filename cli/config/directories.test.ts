import { expect, test } from 'vitest'
import { configDirectory, dataDirectory } from './directories.ts'

const linux = { env: {}, platform: 'linux', isRoot: false, home: () => '/home/ada' } as const

test.each([
  ['an ordinary user gets the XDG data directory', linux, '/home/ada/.local/share/berth'],
  ['XDG_DATA_HOME is honoured', { ...linux, env: { XDG_DATA_HOME: '/d' } }, '/d/berth'],
  ['root gets /var/lib/berth', { ...linux, isRoot: true }, '/var/lib/berth'],
  ['macOS has a place of its own', { ...linux, platform: 'darwin' }, '/home/ada/Library/Application Support/Berth'],
  ['BERTH_DATA wins', { ...linux, isRoot: true, env: { BERTH_DATA: '/x' } }, '/x'],
] as const)('%s', (_title, machine, expected) => {
  expect(dataDirectory(machine)).toBe(expected)
})

test('the CLI keeps its sign-in in the configuration directory', () => {
  expect(configDirectory(linux)).toBe('/home/ada/.config/berth')
  expect(configDirectory({ ...linux, env: { BERTH_CONFIG_DIR: '/c' } })).toBe('/c')
})
