import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { crc32 as zlibCrc32 } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Directory, openTop } from '../storage/beneath.ts'
import { createStorageCalls } from '../storage/calls.ts'
import { entriesOf, requireFewFiles } from './archive.ts'
import { searchNames } from './search.ts'
import { MOST_LEVELS } from './walk.ts'
import { type ZipEntry, zipOf } from './zip.ts'

const calls = createStorageCalls({ threads: 16 })('local')
const { signal } = new AbortController()
/** Python's reader of archives checks sizes and sums. */
const LIST = `import json, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
print(json.dumps({entry.filename: entry.file_size for entry in archive.infolist()}))`
const READ = 'import sys, zipfile; print(zipfile.ZipFile(sys.argv[1]).read("LEFT-OUT.txt").decode())'
let path: string
let top: Directory
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'berth-test-archive-'))
  top = await openTop(path, calls)
})
afterEach(async () => {
  await top[Symbol.asyncDispose]()
  await rm(path, { recursive: true, force: true })
})

const refused = (code: string): unknown => expect.objectContaining({ code })

test('an archive of a directory that grows while it is sent ends', async () => {
  await mkdir(join(path, 'grows'))
  await writeFile(join(path, 'grows', 'file-0'), '')
  await requireFewFiles(top, ['grows'], signal)
  let made = 0
  const sent = async () => {
    const limits = { files: 60, bytes: 1_000 }
    for await (const _entry of entriesOf(top, { paths: ['grows'], name: 'data', signal, limits })) {
      // A directory within the last one: entries created in it are always included.
      const deeper = join(path, 'grows', ...Array.from({ length: (made % 20) + 1 }, () => 'd'))
      await mkdir(deeper, { recursive: true })
      for (let n = 0; n < 4; n++) await writeFile(join(deeper, `file-${++made}`), '')
    }
  }
  await expect(sent()).rejects.toEqual(refused('too_many_files'))
})

test('an archive has a largest size', async () => {
  await writeFile(join(path, 'zeros'), '')
  await truncate(join(path, 'zeros'), 5 * 2 ** 40)
  await expect(requireFewFiles(top, ['zeros'], signal)).rejects.toEqual(refused('too_many_files'))
  await writeFile(join(path, 'more'), 'text')
  const entries = entriesOf(top, { paths: ['more'], name: 'data', signal, limits: { files: 50, bytes: 3 } })
  await expect(entries.next()).rejects.toEqual(refused('too_many_files'))
})

test('a file that gets shorter while it is sent is sent as far as it goes, and the archive says so', async () => {
  for (const name of ['log', 'rest']) await writeFile(join(path, name), Buffer.alloc(2 ** 20, 1))
  const entries = entriesOf(top, { paths: ['log', 'rest'], name: 'data', signal })
  const crc32 = (chunk: Buffer, crc: number) => Promise.resolve({ crc: zlibCrc32(chunk, crc), bytes: chunk })
  const zip: Uint8Array[] = []
  for await (const bytes of zipOf(cutting(entries), { crc32 })) zip.push(bytes)
  const file = join(path, 'archive.zip')
  await writeFile(file, Buffer.concat(zip))
  const listed = await promisify(execFile)('python3', ['-c', LIST, file])
  expect(JSON.parse(listed.stdout)).toMatchObject({ log: 2 ** 19, rest: 2 ** 20 })
  const note = await promisify(execFile)('python3', ['-c', READ, file])
  expect(note.stdout).toContain('\nlog\n')
  expect(note.stdout).not.toContain('\nrest\n')

  /** Cuts the log as soon as its first bytes have been read. */
  async function* cutting(all: AsyncIterable<ZipEntry>): AsyncGenerator<ZipEntry> {
    for await (const entry of all) yield entry.path === 'log' ? { ...entry, bytes: cut(entry.bytes) } : entry
  }
  async function* cut(bytes: ZipEntry['bytes']): AsyncGenerator<Buffer> {
    for await (const chunk of bytes) {
      await truncate(join(path, 'log'), 2 ** 19)
      yield chunk
    }
  }
})

test('a file that is almost all holes is left out, and the archive says so; a smaller one is sent', async () => {
  for (const name of ['holes', 'small']) await writeFile(join(path, name), 'x')
  await truncate(join(path, 'holes'), 900 * 2 ** 30)
  await truncate(join(path, 'small'), 2 ** 20)
  const found = new Map<string, string>()
  for await (const entry of entriesOf(top, { paths: [''], name: 'data', signal })) {
    let text = ''
    for await (const bytes of entry.bytes) text += bytes.toString()
    found.set(entry.path, text)
  }
  expect([...found.keys()].toSorted()).toEqual(['LEFT-OUT.txt', 'data/', 'data/small'])
  expect(found.get('LEFT-OUT.txt')).toContain('\ndata/holes\n')
})

test.runIf(process.platform === 'linux')(
  'names that are not UTF-8 stay different in an archive, which says so',
  async () => {
    await mkdir(join(path, 'old'))
    for (const byte of [0xe8, 0xe9])
      await writeFile(
        Buffer.concat([Buffer.from(`${path}/old/latin1-`), Buffer.from([byte]), Buffer.from('.txt')]),
        'x',
      )
    const paths: string[] = []
    let note = ''
    for await (const entry of entriesOf(top, { paths: ['old'], name: 'data', signal })) {
      paths.push(entry.path)
      if (entry.path === 'LEFT-OUT.txt') for await (const bytes of entry.bytes) note += Buffer.from(bytes).toString()
    }
    expect(paths.toSorted()).toEqual(['LEFT-OUT.txt', 'old/', 'old/latin1-%E8.txt', 'old/latin1-%E9.txt'])
    expect(note).toContain('\nold/latin1-%E9.txt\n')
  },
)

test('names that another computer takes for each other, or for a device, stay apart in an archive, which says so', async () => {
  for (const directory of ['data/Run', 'data/run', 'other']) await mkdir(join(path, directory), { recursive: true })
  const files = ['data/Run/log', 'data/run/log', 'data/README', 'data/readme', 'data/aux.txt', 'other/README']
  for (const file of files) await writeFile(join(path, file), file)
  const found = new Map<string, string>()
  for await (const entry of entriesOf(top, { paths: ['data', 'data/README', 'other/README'], name: 'x', signal })) {
    let text = ''
    for await (const bytes of entry.bytes) text += Buffer.from(bytes).toString()
    found.set(entry.path, text)
  }
  const { 'LEFT-OUT.txt': note = '', ...entries } = Object.fromEntries(found)
  const inData = files.slice(0, 5).toSorted()
  expect(Object.values(entries).filter(Boolean).toSorted()).toEqual(
    [...inData, 'data/README', 'other/README'].toSorted(),
  )
  for (const [at, content] of Object.entries(entries).filter(([at]) => at.startsWith('data/') && !at.endsWith('/')))
    expect(decodeURIComponent(at)).toBe(content)
  const keys = Object.keys(entries)
  expect(new Set(keys.map(key => key.toLowerCase())).size).toBe(keys.length)
  expect(entries).toMatchObject({
    'data/%61ux.txt': 'data/aux.txt',
    README: 'data/README',
    'README (1)': 'other/README',
  })
  for (const at of keys.filter(key => /%(?!.*[/])|\(1\)/.test(key) && !key.endsWith('/')))
    expect(note).toContain(`\n${at}\n`)
})

test('the note of an archive takes no name of a chosen file', async () => {
  for (const file of ['LEFT-OUT.txt', 'aux.txt']) await writeFile(join(path, file), file)
  const found: string[] = []
  for await (const entry of entriesOf(top, { paths: ['LEFT-OUT.txt', 'aux.txt'], name: 'x', signal }))
    found.push(entry.path)
  expect(found).toEqual(['LEFT-OUT.txt', '%61ux.txt', 'LEFT-OUT (1).txt'])
})

test('links are in an archive as what they lead to in the folder; it says which are not', async () => {
  await mkdir(join(path, 'hub/blobs'), { recursive: true })
  await mkdir(join(path, 'hub/snapshots'))
  await mkdir(join(path, 'other/deep'), { recursive: true })
  await writeFile(join(path, 'hub/blobs/sha1'), 'weights')
  await writeFile(join(path, 'other/deep/file'), 'x')
  for (const [name, target] of [
    ['hub/snapshots/model.bin', '../blobs/sha1'],
    ['hub/latest', 'blobs'],
    ['hub/circle', '..'],
    ['hub/elsewhere', '../other'],
    ['other/back', '../hub'],
    ['hub/out', '/etc/passwd'],
    ['chosen', 'other/deep'],
  ] as const)
    await symlink(target, join(path, name))
  const archived = async (paths: readonly string[]) => {
    await requireFewFiles(top, paths, signal)
    const found = new Map<string, string>()
    for await (const entry of entriesOf(top, { paths, name: 'data', signal })) {
      let text = ''
      for await (const bytes of entry.bytes) text += Buffer.from(bytes).toString()
      expect(found.has(entry.path)).toBe(false)
      found.set(entry.path, text)
    }
    return found
  }

  const hub = await archived(['hub'])
  expect(Object.fromEntries(hub)).toMatchObject({
    'hub/blobs/sha1': 'weights',
    'hub/snapshots/model.bin': 'weights',
    'hub/elsewhere/deep/file': 'x',
  })
  expect(hub.get('LEFT-OUT.txt')).toContain('\nhub/out\n')
  expect(hub.get('LEFT-OUT.txt')).toContain('\nhub/latest → hub/blobs\n')
  expect(hub.get('LEFT-OUT.txt')).toContain('\nhub/elsewhere/back → hub\n')
  expect([...hub.keys()].filter(name => name.includes('circle'))).toEqual([])
  expect([...(await archived(['chosen'])).keys()]).toEqual(['chosen/', 'chosen/file'])
  await expect(requireFewFiles(top, ['hub/out'], signal)).rejects.toEqual(refused('file_kind_refused'))
})

test('a name from a Mac is found as keyboards type it, and the other way round', async () => {
  const names = ['한글보고서.txt', 'Résumé.pdf']
  for (const name of names) await writeFile(join(path, name.normalize('NFD')), '')
  for (const name of names) await writeFile(join(path, `b-${name.normalize('NFC')}`), '')
  for (const text of ['보고서', 'résumé'])
    for (const form of ['NFC', 'NFD'] as const) {
      const { items } = await searchNames(top, { path: '', text: text.normalize(form), limit: 10 }, signal)
      expect(items).toHaveLength(2)
    }
})

test('files that grow after the check, and a directory that is named many times, end the archive', async () => {
  await mkdir(join(path, 'data'))
  for (const name of ['a', 'data/b', 'data/c']) await writeFile(join(path, name), 'x')
  await requireFewFiles(top, ['a', 'data'], signal)
  const limits = { files: 50, bytes: 100 }
  const growing = entriesOf(top, { paths: ['a', 'data'], name: 'data', signal, limits })
  expect((await growing.next()).value).toMatchObject({ path: 'a', size: 1 })
  for (const name of ['data/b', 'data/c']) await truncate(join(path, name), 101)
  expect((await growing.next()).value).toMatchObject({ path: 'data/' })
  await expect(growing.next()).rejects.toEqual(refused('too_many_files'))

  const paths = Array.from({ length: 100 }, () => 'data')
  const again = entriesOf(top, { paths, name: 'data', signal, limits: { files: 50, bytes: 2 ** 50 } })
  const sent = async () => {
    for await (const _entry of again);
  }
  await expect(sent()).rejects.toEqual(refused('too_many_files'))
})

test('what lies too deep is left out of an archive, which says so, and passed over by a search', async () => {
  const deep = Array.from({ length: MOST_LEVELS + 5 }, () => 'd')
  await mkdir(join(path, ...deep), { recursive: true })
  await writeFile(join(path, ...deep, 'found-not'), '')
  await writeFile(join(path, 'found'), 'text')
  await requireFewFiles(top, [''], signal)
  const paths: string[] = []
  let note = ''
  for await (const entry of entriesOf(top, { paths: [''], name: 'data', signal })) {
    paths.push(entry.path)
    if (entry.path === 'LEFT-OUT.txt') for await (const bytes of entry.bytes) note += Buffer.from(bytes).toString()
  }
  expect(paths).toContain('data/found')
  expect(paths.filter(each => each.includes('found-not'))).toEqual([])
  expect(paths.at(-1)).toBe('LEFT-OUT.txt')
  expect(note).toContain(`data/${Array(MOST_LEVELS).fill('d').join('/')}\n`)

  const { items, complete } = await searchNames(top, { path: '', text: 'found', limit: 10 }, signal)
  expect([items.map(item => item.path), complete]).toEqual([['found'], false])
})
