import { execFile } from 'node:child_process'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ApiClient, type Session } from '#manager/contract'
import { hostBlock, sshOptions, writeSshFiles } from './access.ts'

const run = promisify(execFile)
let directory: string
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'berth test '))))
afterEach(() => rm(directory, { recursive: true }))

const session = { id: '01890000-0000-7000-8000-000000000001', name: 'train' } as Session
const access = { user: 'work', hostKey: 'ssh-ed25519 AAAA', hostKeyFingerprint: '', privateKey: 'KEY', publicKey: '' }
const api = { getSshAccess: () => Promise.resolve(access) } as unknown as ApiClient

test('the key is readable by its owner only and the host key is pinned', async () => {
  const files = await writeSshFiles(api, session, directory)
  expect((await stat(files.identityFile)).mode & 0o777).toBe(0o600)
  expect(sshOptions(files, 2222).join(' ')).toContain('StrictHostKeyChecking=yes')
})

test('OpenSSH itself reads the Host block as it is meant, also with spaces in paths', async () => {
  const files = await writeSshFiles(api, session, directory)
  const config = join(directory, 'config')
  await writeFile(config, `${hostBlock(session, files, '/opt/berth dir/bin/berth')}\n`)
  const { stdout } = await run('ssh', ['-F', config, '-G', 'berth-train'])
  expect(stdout).toContain(`identityfile ${files.identityFile}`)
  expect(stdout).toContain('stricthostkeychecking true')
  expect(stdout).toContain(`hostkeyalias berth-${session.id}`)
  expect(stdout).toContain(`proxycommand "/opt/berth dir/bin/berth" stdio ${session.id}`)
})
