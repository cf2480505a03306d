import { expect, test } from 'vitest'
import { decode, encode, type Entry, FORMAT_VERSION, type Header } from './format.ts'
import { openKey, sealKey } from './sealed-key.ts'

const HEADER: Header = {
  berthBackup: FORMAT_VERSION,
  createdAt: '2026-01-01T00:00:00.000Z',
  schema: ['0001-initial'],
  tables: [{ name: 'users', columns: ['id', 'name'] }],
  masterKey: null,
}
const ENTRIES: readonly Entry[] = [
  { row: [0, '(1,"a ""b"" \\\\ c")'] },
  { row: [0, '(2,)'] },
  { counter: { table: 'users', column: 'id', value: '2' } },
]

const written = async (header = HEADER) => {
  const lines: string[] = []
  for await (const text of encode(header, each(ENTRIES))) lines.push(text.replace(/\n$/, ''))
  return lines
}
async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  for (const item of items) yield await Promise.resolve(item)
}
async function read(lines: readonly string[]) {
  const { header, entries } = await decode(each(lines))
  const list: Entry[] = []
  for await (const entry of entries) list.push(entry)
  return { header, entries: list }
}

test('a written backup can be read', async () => {
  expect(await read(await written())).toEqual({ header: HEADER, entries: ENTRIES })
})

test('a file that is cut off anywhere is refused', async () => {
  const lines = await written()
  for (let length = 0; length < lines.length; length++)
    await expect(read(lines.slice(0, length))).rejects.toMatchObject({ code: 'backup_damaged' })
})

test('a file with a changed, missing, repeated or additional line is refused', async () => {
  const lines = await written()
  const [header = '', first = '', second = ''] = lines
  const rest = lines.slice(2)
  for (const changed of [
    [header, first.replace('a ', 'A '), ...rest],
    [header, second, ...lines.slice(3)],
    [header, first, first, ...rest],
    [header.replace('2026', '2025'), first, ...rest],
    [...lines, first],
    [header, 'nonsense', ...rest],
  ])
    await expect(read(changed)).rejects.toMatchObject({ code: 'backup_damaged' })
})

test('another format, a damaged file and a foreign file have different errors', async () => {
  const newer = await written({ ...HEADER, berthBackup: FORMAT_VERSION + 1 })
  await expect(read(newer)).rejects.toMatchObject({ code: 'data_version_unsupported' })
  await expect(read(['{"hello":1}'])).rejects.toThrow('not a backup of Berth')
})

test('a key opens with its passphrase, with no other, and only for its purpose', async () => {
  const key = Buffer.from('0123456789abcdef0123456789abcdef')
  const sealed = await sealKey(key, 'correct horse battery', 'master')
  expect(JSON.stringify(sealed)).not.toContain(key.toString('base64'))
  expect(await openKey(sealed, 'correct horse battery', 'master')).toEqual(key)
  await expect(openKey(sealed, 'correct horse batterx', 'master')).rejects.toThrow('passphrase')
  await expect(openKey(sealed, 'correct horse battery', 'tls')).rejects.toThrow('passphrase')
  const changed = { ...sealed, sealed: Buffer.alloc(32).toString('base64') }
  await expect(openKey(changed, 'correct horse battery', 'master')).rejects.toThrow('passphrase')
  await expect(sealKey(key, 'short', 'master')).rejects.toThrow('12 characters')
})
