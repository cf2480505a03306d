import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { aliasFor, labelOfServer } from './aliases.ts'
import { makeDefaultServer } from './default-server.ts'
import { createKitFiles, type KitEntry } from './kit-files.ts'
import { parseBlocks } from './ssh-config.ts'

let directory: string
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'berth-test-kit-'))))
afterEach(() => rm(directory, { recursive: true }))

/** The kit files of a process on another computer, so that nobody checks whether it lives. */
const ofProcess = (run: string) => createKitFiles(directory, { host: `computer-${run}`, pid: 7, run })
const content = {
  wantedAlias: 'berth-train',
  server: 'berth.example.org',
  privateKey: 'KEY',
  ppk: 'PPK',
  include: false,
}
const entry = (port: number, sessionId = 'session-1'): KitEntry => ({
  sessionId,
  port,
  user: 'work',
  hostKey: 'ssh-ed25519 AAAA',
})
const blocks = async () => parseBlocks(await readFile(join(directory, 'berth', 'config'), 'utf8'))
const ports = async () => (await blocks()).map(({ port }) => port)
const keys = async () => (await readdir(join(directory, 'berth'))).filter(name => name.startsWith('id_')).sort()

test('two processes with a tunnel to one session keep a block each, and OpenSSH takes the latest', async () => {
  const [desktop, console] = [ofProcess('a'), ofProcess('b')]
  await desktop.install(entry(1), content)
  expect(await console.install(entry(2), content)).toMatchObject({ alias: 'berth-train' })
  expect(await ports()).toEqual([2, 1])
  await desktop.install(entry(3), content)
  expect(await ports()).toEqual([3, 2])
})

test('each entry removes only its own lines; keys and the pinned host key are removed with the last entry', async () => {
  const [desktop, console] = [ofProcess('a'), ofProcess('b')]
  await desktop.install(entry(1), content)
  await console.install(entry(2), content)
  await console.remove('session-1')
  expect(await ports()).toEqual([1])
  expect(await keys()).toEqual(['id_container-berth-train', 'id_container-berth-train.ppk'])
  expect(await readFile(join(directory, 'berth', 'known_hosts'), 'utf8')).toContain('session-1')
  await desktop.remove('session-1')
  expect(await keys()).toEqual([])
  expect(await readFile(join(directory, 'berth', 'known_hosts'), 'utf8')).toBe('')
})

test('sessions of one name get an alias each', async () => {
  const files = ofProcess('a')
  await files.install(entry(1), content)
  expect(await files.install(entry(2, 'session-2'), content)).toMatchObject({ alias: 'berth-train-sion-2' })
})

test('of two servers the first has the short aliases, also while its tunnel is closed', async () => {
  const [first, second] = [ofProcess('a'), ofProcess('b')]
  await first.install(entry(1), content)
  await first.remove('session-1')
  const other = { ...content, server: 'hostile.example.org' }
  expect(await second.install(entry(2, 'session-2'), other)).toMatchObject({ alias: 'berth-train.hostile.example.org' })
  expect((await blocks()).flatMap(({ names }) => names)).toEqual(['berth-train.hostile.example.org'])
  await first.install(entry(1), content)
  expect((await blocks()).map(({ port, names }) => ({ port, names }))).toEqual([
    { port: 1, names: ['berth-train', 'berth-train.berth.example.org'] },
    { port: 2, names: ['berth-train.hostile.example.org'] },
  ])
})

test('the short aliases go to another server when the user says so, and never while another session has them', async () => {
  const [first, second] = [ofProcess('a'), ofProcess('b')]
  await first.install(entry(1), content)
  await makeDefaultServer(directory, 'other.example.org')
  const other = { ...content, server: 'other.example.org' }
  expect(await second.install(entry(2, 'session-2'), other)).toMatchObject({ alias: 'berth-train-sion-2' })
  await first.remove('session-1')
  expect(await second.install(entry(2, 'session-2'), other)).toMatchObject({ alias: 'berth-train' })
})

test('an entry that is removed right after its request is really removed', async () => {
  const files = ofProcess('a')
  await Promise.all([files.install(entry(1), content), files.remove('session-1')])
  expect(await blocks()).toEqual([])
  expect(await keys()).toEqual([])
})

test('the longest name of a session at a server with a very long name has files', async () => {
  const label = labelOfServer(`https://${Array.from({ length: 4 }, () => 'x'.repeat(61)).join('.')}:8443`)
  await makeDefaultServer(directory, 'berth.example.org')
  const wantedAlias = aliasFor({ id: 'session-1', name: 'n'.repeat(64), isOthers: true })
  const { alias, identityFile } = await ofProcess('a').install(entry(1), { ...content, wantedAlias, server: label })
  expect(alias).toBe(`${wantedAlias}.${label}`)
  expect(await readFile(`${identityFile}.ppk`, 'utf8')).toBe('PPK')
})
