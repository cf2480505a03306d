import { chmod, copyFile, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { silentLog } from '../../../manager/log.ts'
import { addMasterKey, masterKeyPath } from '../../../manager/secrets/master-key-file.ts'
import { rotateMasterKey } from '../../../manager/secrets/rotate.ts'
import { createCli } from '../../fixtures/cli.ts'
import { startTestManager, temporaryDirectory } from '../../fixtures/manager.ts'
import { FAST, type Managers, startManagers } from '../../fixtures/managers.ts'
import { blocksOf, commandsIn, wordsOfBerth } from '../../fixtures/page-blocks.ts'
import { startWebhookReceiver, verifyEvent } from '../../fixtures/webhook-receiver.ts'

test('the first start creates a key that only its owner can read, and the database stores its fingerprint', async () => {
  await using data = await temporaryDirectory()
  const file = join(data.path, 'master.key')
  const start = async () => {
    await using manager = await startTestManager({ dataDir: data.path })
    return manager.url
  }
  await start()
  const made = await readFile(file, 'utf8')
  expect(Buffer.from(made, 'base64')).toHaveLength(32)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  await start()
  expect(await readFile(file, 'utf8')).toBe(made)

  await rename(file, `${file}.kept`)
  await expect(start()).rejects.toMatchObject({ code: 'master_key_mismatch' })
  await expect(stat(file)).rejects.toThrow('ENOENT')
  await writeFile(file, Buffer.alloc(32, 7).toString('base64'), { mode: 0o600 })
  await expect(start()).rejects.toMatchObject({ code: 'master_key_mismatch' })
  await writeFile(file, 'not a key', { mode: 0o600 })
  await expect(start()).rejects.toMatchObject({ code: 'config_invalid' })

  await rm(file)
  await rename(`${file}.kept`, file)
  await chmod(file, 0o644)
  await expect(start()).rejects.toMatchObject({ code: 'config_invalid' })
  await chmod(file, 0o600)
  await addMasterKey(masterKeyPath(data.path))
  await start()
  // Rotated: the new key alone is enough from now on.
  const [added = ''] = (await readFile(file, 'utf8')).split('\n')
  await writeFile(file, added)
  await start()
})

const goneMs = FAST.cluster?.goneMs
const rotationOf = ({ databaseUrl, masterKeyFile: file }: Managers) => ({
  dataDir: '/nonexistent',
  databaseUrl,
  file,
  log: silentLog,
  goneMs,
})

test('the master key of several managers is changed once none of them runs, and one with the old key does not start', async () => {
  await using managers = await startManagers()
  const [one, other] = [await managers.start(), await managers.start()]
  const { api } = await managers.admin(one)
  await api.createRegistry({ body: { name: '127.0.0.1:9', url: 'http://127.0.0.1:9', username: 'u', password: 'p' } })
  await using receiver = await startWebhookReceiver()
  await api.updateSettings({ body: { webhookHosts: 'localhost', webhookHttp: true } })
  const hook = await api.createWebhook({ body: { name: 'ours', url: receiver.url, events: ['host.lost'] } })
  const { secret } = await api.rotateWebhookSecret({ params: { id: hook.id } })
  const old = `${managers.masterKeyFile}.old`
  await copyFile(managers.masterKeyFile, old)
  const told = [one.url, other.url].toSorted()
  const refused = (await rotateMasterKey(rotationOf(managers)).catch((error: unknown) => error)) as {
    detail: { managers: string[] }
  }
  expect(refused).toMatchObject({ code: 'master_key_in_use' })
  expect(refused.detail.managers.toSorted()).toEqual(told)
  expect(await readFile(managers.masterKeyFile, 'utf8')).toBe(await readFile(old, 'utf8'))

  for (const manager of [one, other]) await manager[Symbol.asyncDispose]()
  const { keyId } = await rotateMasterKey(rotationOf(managers))
  await expect(managers.start({ masterKeyFile: old })).rejects.toMatchObject({
    code: 'master_key_mismatch',
    detail: { keyId },
  })
  const again = await managers.start()
  const { api: admin } = await managers.admin(again)
  const { items } = await admin.listRegistries()
  expect(items).toMatchObject([{ name: '127.0.0.1:9', hasPassword: true }])
  // Address, secret and old secret of a webhook were encrypted again.
  await admin.testWebhook({ params: { id: hook.id } })
  const [event] = receiver.events
  if (!event) throw new Error('no event')
  for (const one of [hook.secret, secret]) expect(verifyEvent(one, event)).toMatchObject({ type: 'webhook.test' })
})

test('a manager that runs with the old key says so to load balancers and at every secret', async () => {
  await using managers = await startManagers()
  const manager = await managers.start()
  const { api } = await managers.admin(manager)
  await api.createRegistry({ body: { name: '127.0.0.1:9', url: 'http://127.0.0.1:9', username: 'u', password: 'p' } })
  // As if another computer had rotated the key while this manager could not reach the database.
  await rotateMasterKey({ ...rotationOf(managers), goneMs: 0 })
  const ready = await fetch(`${manager.url}/readyz`)
  expect([ready.status, await ready.json()]).toMatchObject([409, { code: 'master_key_mismatch' }])
  await expect(api.testRegistry({ params: { name: '127.0.0.1:9' } })).rejects.toMatchObject({
    code: 'master_key_mismatch',
  })
})

const GUIDE = new URL('../../../docs/admin/backup.md', import.meta.url)

test('the command of the guide for a new master key works on the database of its own', async () => {
  await using stack = new AsyncDisposableStack()
  const { path: data } = stack.use(await temporaryDirectory())
  const cli = stack.use(await createCli())
  const file = join(data, 'master.key')
  const block = blocksOf(await readFile(GUIDE, 'utf8'), 'sh').find(text => text.includes('rotate-master-key'))
  const [command = ''] = commandsIn(block ?? '')
  const rotate = async () => await cli.run([...wordsOfBerth(command), '--data', data, '--json'])
  {
    await using _manager = await startTestManager({ dataDir: data })
    expect(await rotate()).toMatchObject({ code: 1, err: expect.stringContaining('Another') as string })
  }
  const before = await readFile(file, 'utf8')
  const done = await rotate()
  expect(done).toMatchObject({ code: 0, err: '' })
  expect(JSON.parse(done.out)).toMatchObject({ file, keyId: expect.stringMatching(/^[0-9a-f]{16}$/) as string })
  const [first, ...others] = (await readFile(file, 'utf8')).trim().split('\n')
  expect(others).toEqual([before.trim()])
  expect(first).not.toBe(before.trim())
  await using _again = await startTestManager({ dataDir: data })
})
