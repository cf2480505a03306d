import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { type Agent } from '#manager/contract'
import { type Cli, createCli } from '../../fixtures/cli.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { ADMIN, readAdminPassword, temporaryDirectory } from '../../fixtures/manager.ts'
import { scriptedEngine, startMeshAgent } from '../../fixtures/mesh-agent.ts'
import { blocksOf, commandsIn } from '../../fixtures/page-blocks.ts'

const execute = promisify(execFile)
const PASSPHRASE = 'a long enough passphrase'
const GUIDE = new URL('../../../docs/admin/backup.md', import.meta.url)

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

/** Commands of the first blocks of the guide, without comments: the backup, and the restore. */
async function commandsOfGuide(): Promise<string[]> {
  return blocksOf(await readFile(GUIDE, 'utf8'), 'sh')
    .slice(0, 2)
    .flatMap(commandsIn)
}

test('the steps of the guide: a host that has pinned the certificate of Berth comes back by itself', async () => {
  const { path } = stack.use(await temporaryDirectory())
  const [old, fresh, file] = ['old', 'new', 'berth.backup'].map(name => join(path, name)) as [string, string, string]
  await mkdir(old)
  const cli = stack.use(await createCli())
  const port = String(await freePort())
  const url = `https://localhost:${port}`
  const up = (data: string) => startBerth(cli, ['--port', port, '--data', data], { BERTH_ADVERTISE_URL: url })
  const admin = async (...args: string[]) => {
    const { code, out, err } = await cli.run(['admin', ...args])
    expect([code, err]).toEqual([0, ''])
    return out
  }
  const login = async (data: string, password: string) => {
    const fingerprint = new X509Certificate(await readFile(join(data, 'tls', 'own-certificate.pem'))).fingerprint256
    const args = ['login', '--endpoint', url, '--email', ADMIN.email, '--fingerprint', fingerprint, '--password-stdin']
    expect(await cli.run(args, password)).toMatchObject({ code: 0 })
  }

  let running = await up(old)
  const password = await readAdminPassword(old)
  await login(old, password)
  const engine = scriptedEngine({ capacity: { cpu: 2000, mem: 2 ** 30 } })
  const invitation = (await admin('agent', 'join-token')).trim().split('\n').at(-1) ?? ''
  stack.use(await startMeshAgent({ home: join(path, 'host'), engine, join: invitation }))
  const agents = async () => JSON.parse(await admin('agent', 'ls', '--json')) as Agent[]
  await expect.poll(async () => (await agents())[0]?.status).toBe('CONNECTED')
  const [host] = await agents()

  for (const command of await commandsOfGuide()) {
    const [program = '', ...words] = command.split(' ')
    const args = words.map(word =>
      word.replace('berth.backup', file).replace('/srv/berth-new', fresh).replace('/var/lib/berth', old),
    )
    if (program === 'mv') {
      // Without an agent on this computer there is no such directory.
      if (await stat(args[0] ?? '').catch(() => undefined)) await execute('mv', args)
      continue
    }
    const [name = '', ...rest] = args.slice(1)
    if (name === 'up') running = await up(fresh)
    else if (name === 'login') await login(fresh, password)
    else if (name === 'admin') await admin(...rest)
    else {
      const where = name === 'backup' ? ['--data', old] : []
      expect(await cli.run([name, ...rest, '--passphrase-stdin', ...where], PASSPHRASE), command).toMatchObject({
        code: 0,
      })
      // "Stop the old Berth first."
      if (name === 'backup') await running.stop()
    }
  }
  expect(await readFile(join(fresh, 'tls', 'own-key.pem'))).toEqual(await readFile(join(old, 'tls', 'own-key.pem')))
  await expect.poll(agents).toMatchObject([{ id: host?.id, status: 'CONNECTED' }])
  await running.stop()
})

async function startBerth(cli: Cli, args: readonly string[], environment: NodeJS.ProcessEnv) {
  const child = cli.start(['up', '--no-open', '--no-engine', '--json', '--tls', ...args], environment)
  const stop = async () => {
    if (child.exitCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  stack.defer(stop)
  child.stderr.resume()
  await once(createInterface({ input: child.stdout }), 'line')
  return { stop }
}
