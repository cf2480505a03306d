import { expect, test } from 'vitest'
import { parsePlatform } from './platform.ts'

test.each([
  ['Debian', 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n', 'Debian GNU/Linux 12 (bookworm)', true],
  ['Mint, by its ancestors', 'NAME=x\nID=linuxmint\nID_LIKE="ubuntu debian"\nPRETTY_NAME=Mint\n', 'Mint', true],
  ['Fedora', 'ID=fedora\nPRETTY_NAME="Fedora Linux 44"\n', 'Fedora Linux 44', false],
  ['a system without the file', undefined, process.platform, false],
])('%s is recognised', (_case, text, name, debianLike) => {
  expect(parsePlatform(text, 0)).toEqual({ name, debianLike, root: true })
})
