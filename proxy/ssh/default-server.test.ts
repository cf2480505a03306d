import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defaultServerIfKnown, defaultServerIn, makeDefaultServer } from './default-server.ts'

let directory: string
const file = () => join(directory, 'berth', 'default-server')
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'berth-test-default-server-'))))
afterEach(() => rm(directory, { recursive: true }))

async function write(text: string): Promise<void> {
  await mkdir(dirname(file()), { recursive: true })
  await writeFile(file(), text)
}

test('the first server stays the default, until the user chooses another one', async () => {
  const first = await Promise.all(['a.example.org', 'b.example.org'].map(label => defaultServerIn(directory, label)))
  expect(new Set(first).size).toBe(1)
  await makeDefaultServer(directory, 'c.example.org')
  expect(await defaultServerIn(directory, 'a.example.org')).toBe('c.example.org')
})

test('a file that the user wrote by hand may end with a line break', async () => {
  await write('a.example.org\r\n')
  expect(await defaultServerIn(directory, 'b.example.org')).toBe('a.example.org')
})

test.each([
  ['empty, as after a power failure', ''],
  ['of zeros', '\0'.repeat(13)],
  ['an address with more lines', 'a.example.org\nHost *'],
])('a file that is %s names no server, and the next one becomes the default', async (_, text) => {
  await write(text)
  expect(await defaultServerIn(directory, 'b.example.org')).toBe('b.example.org')
  expect(await readFile(file(), 'utf8')).toBe('b.example.org')
})

test('where a file may name a server but cannot be read, nobody knows the default', async () => {
  // Root reads every file, but nobody reads a folder.
  await mkdir(file(), { recursive: true })
  expect(await defaultServerIfKnown(directory, 'b.example.org')).toBeUndefined()
})

test('where nothing can be kept, the server at hand is the default', async () => {
  const home = join(directory, 'no-directory')
  await writeFile(home, '')
  expect(await defaultServerIfKnown(home, 'b.example.org')).toBe('b.example.org')
  expect(await defaultServerIfKnown(directory, 'b.example.org')).toBe('b.example.org')
  expect(await defaultServerIfKnown(directory, 'c.example.org')).toBe('b.example.org')
})
