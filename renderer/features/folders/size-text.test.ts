import { expect, test } from 'vitest'
import { aFolder } from '../../testing/a-folder.ts'
import { sizeNote, sizeTexts } from './size-text.ts'

const USED = { usage: { bytes: 2 ** 30, files: 17, measuredAt: '2026-11-01T00:00:00.000Z' } }
const LIMIT = { limit: { bytes: 2 ** 31, enforced: true } }
const FILES = { fileLimit: { files: 500, enforced: false } }

test.each([
  ['not counted yet', {}, '–', '', ''],
  ['both limits', { ...LIMIT, ...FILES }, 'at most 2 GiB', 'at most 500 files', 'not enforced'],
  ['used', USED, '1 GiB', '17 files', ''],
  ['used, of an enforced limit', { ...USED, ...LIMIT }, '1 GiB of 2 GiB', '17 files', ''],
  ['used, of both limits', { ...USED, ...LIMIT, ...FILES }, '1 GiB of 2 GiB', '17 of 500 files', 'not enforced'],
])('the size of a folder is told: %s', (_case, folder, bytes, files, soft) => {
  expect(sizeTexts(aFolder(1, folder))).toEqual({ bytes, files, soft })
})

test('a limit that the file system does not enforce is told, also beside one that it does', () => {
  expect(sizeNote(aFolder(1, LIMIT))).toMatch(/also in sessions/)
  expect(sizeNote(aFolder(1, { ...LIMIT, ...FILES }))).toMatch(/not enforced: .* may exceed it and hide files/)
})
