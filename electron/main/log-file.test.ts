import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openLogFile } from './log-file.ts'

test('a log that has grown is replaced, three older ones are kept, and only their user may read them', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'berth-test-log-'))
  const log = openLogFile(path.join(folder, 'logs'), 10)
  for (const line of ['first...\n', 'second..\n', 'third...\n', 'fourth..\n', 'fifth...\n']) log.write(line)
  const names = (await readdir(path.join(folder, 'logs'))).toSorted()
  expect(names).toEqual(['desktop.1.log', 'desktop.2.log', 'desktop.3.log', 'desktop.log'])
  expect(await readFile(path.join(folder, 'logs/desktop.log'), 'utf8')).toBe('fifth...\n')
  expect(await readFile(path.join(folder, 'logs/desktop.3.log'), 'utf8')).toBe('second..\n')
  if (process.platform !== 'win32') expect((await stat(path.join(folder, 'logs/desktop.log'))).mode & 0o777).toBe(0o600)
  await rm(folder, { recursive: true })
})

test('a later start goes on in the same file', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'berth-test-log-'))
  openLogFile(folder).write('before\n')
  openLogFile(folder).write('after\n')
  expect(await readFile(path.join(folder, 'desktop.log'), 'utf8')).toBe('before\nafter\n')
  await rm(folder, { recursive: true })
})

test('a folder that cannot be made stops nothing', () => {
  expect(() => openLogFile(path.join(import.meta.filename, 'logs')).write('lost\n')).not.toThrow()
})
