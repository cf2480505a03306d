import { expect, test } from 'vitest'
import { dataDirectory, parsePlatform } from './platform.ts'

test.each([
  ['Debian', 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n', 'Debian GNU/Linux 12 (bookworm)', true],
  ['Mint, by its ancestors', 'NAME=x\nID=linuxmint\nID_LIKE="ubuntu debian"\nPRETTY_NAME=Mint\n', 'Mint', true],
  ['Fedora', 'ID=fedora\nPRETTY_NAME="Fedora Linux 44"\n', 'Fedora Linux 44', false],
  ['a system without the file', undefined, process.platform, false],
])('%s is recognised', (_case, text, name, debianLike) => {
  expect(parsePlatform(text, 0)).toEqual({ name, debianLike, root: true })
})

test('the data directory is the flag, else BERTH_DATA, else that of root or of XDG', () => {
  expect(dataDirectory('/flag', { BERTH_DATA: '/env' }, true)).toBe('/flag')
  expect(dataDirectory(undefined, { BERTH_DATA: '/env' }, true)).toBe('/env')
  expect(dataDirectory(undefined, {}, true)).toBe('/var/lib/berth')
  expect(dataDirectory(undefined, { HOME: '/home/a' }, false)).toBe('/home/a/.local/share/berth')
  expect(dataDirectory(undefined, { HOME: '/home/a', XDG_DATA_HOME: '/d' }, false)).toBe('/d/berth')
})
