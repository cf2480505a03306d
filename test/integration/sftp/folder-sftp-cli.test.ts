import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FolderKit } from '#proxy/contract'
import { type Cli, createCli, outcomeOf } from '../../fixtures/cli.ts'
import { startTestManager, temporaryDirectory, type TestManager } from '../../fixtures/manager.ts'

const run = promisify(execFile)

let manager: TestManager
let cli: Cli
let local: string
let batch: string
let stored: string
const stack = new AsyncDisposableStack()
beforeAll(async () => {
  manager = stack.use(await startTestManager())
  cli = stack.use(await createCli())
  local = stack.use(await temporaryDirectory()).path
  await cli.signIn(manager.url)
  const { id } = await (await manager.signIn()).api.createFolder({ body: { name: 'data' } })
  stored = join(manager.dataDir, 'storage', 'folders', id, 'notes.txt')
  batch = join(local, 'batch')
  await writeFile(join(local, 'notes.txt'), 'hello')
  await writeFile(batch, `put ${local}/notes.txt data/\nls data\n`)
})
afterAll(() => stack.disposeAsync())

test('berth folder sftp runs OpenSSH on all folders', async () => {
  // OpenSSH writes to the standard output of the command.
  const done = await outcomeOf(cli.start(['folder', 'sftp', '--', '-b', batch]))
  expect(done).toMatchObject({ code: 0 })
  expect(done.out).toContain('data/notes.txt')
  expect(await readFile(stored, 'utf8')).toBe('hello')
})

test('berth folder sftp --serve keeps a port open until Ctrl-C', async () => {
  const child = cli.start(['folder', 'sftp', '--serve', '--json'])
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const kit = JSON.parse(line) as FolderKit
  const { stdout } = await run('sftp', ['-F', kit.configFile, '-b', batch, kit.hostAlias])
  expect(stdout).toContain('data/notes.txt')
  const exit = once(child, 'exit')
  child.kill('SIGINT')
  expect(await exit).toEqual([0, null])
  await expect(run('sftp', ['-F', kit.configFile, '-b', batch, kit.hostAlias])).rejects.toThrow()
})

test('the Host block of berth ssh-config reaches the folders without a port', async () => {
  const { out } = await cli.run(['ssh-config'])
  expect(out).toMatch(/^Host berth-folders berth-folders\.localhost\.\d+$/m)
  const config = join(local, 'config')
  await writeFile(config, out)
  const { stdout, stderr } = await run('sftp', ['-v', '-F', config, '-b', batch, 'berth-folders'])
  // Both directions.
  expect(stderr.match(/cipher: aes128-gcm@openssh.com/g)).toHaveLength(2)
  expect(stdout).toContain('data/notes.txt')
})
