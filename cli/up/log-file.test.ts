import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createLogFile } from './log-file.ts'

let directory: string
let path: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-log-'))
  path = join(directory, 'manager.log')
})
afterEach(() => rm(directory, { recursive: true }))

const write = (lines: readonly string[], to: Writable) => pipeline(Readable.from(lines.map(Buffer.from)), to)

test('a growing log keeps its last lines and three earlier files, readable by its owner only', async () => {
  const lines = Array.from({ length: 12 }, (_, index) => `line ${String(index).padStart(2, '0')}\n`)
  await write(lines, createLogFile(path, 16))
  expect((await readdir(directory)).toSorted()).toEqual(['', '.1', '.2', '.3'].map(end => `manager.log${end}`))
  expect(await readFile(path, 'utf8')).toBe('line 10\nline 11\n')
  expect(await readFile(`${path}.3`, 'utf8')).toBe('line 04\nline 05\n')
  expect((await stat(path)).mode & 0o777).toBe(0o600)
})

test('the log of an earlier start counts, and new lines are appended while there is room', async () => {
  await writeFile(path, 'earlier\n')
  await write(['more\n'], createLogFile(path, 16))
  expect(await readFile(path, 'utf8')).toBe('earlier\nmore\n')
  await write(['another\n'], createLogFile(path, 16))
  expect(await readFile(path, 'utf8')).toBe('another\n')
  expect(await readFile(`${path}.1`, 'utf8')).toBe('earlier\nmore\n')
})

test('lines that cannot be written are lost, and the log continues once writing works', async () => {
  const log = createLogFile(join(path, 'log'))
  const say = (text: string) => new Promise<void>(done => void log.write(text, () => done()))
  await writeFile(path, 'in the way')
  await say('lost\n')
  await rm(path)
  expect(log.errored).toBeNull()
  await mkdir(path)
  await say('written\n')
  expect(await readFile(join(path, 'log'), 'utf8')).toBe('written\n')
})
