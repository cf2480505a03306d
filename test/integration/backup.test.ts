import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { backup, restore } from '../../manager/backup/backup.ts'
import { openToRead } from '../../manager/backup/open-database.ts'
import { silentLog } from '../../manager/log.ts'
import { readShapes } from '../../manager/store/snapshot.ts'
import { execute, root } from '../fixtures/berth.ts'
import { BACKENDS, createDatabase, startTestManager, temporaryDirectory } from '../fixtures/manager.ts'

const PASSPHRASE = 'a long enough passphrase'

/** Every row of every table that lasts, as text. */
async function contentOf(source: { dataDir: string; databaseUrl: string | undefined }) {
  await using store = await openToRead({ ...source, log: silentLog })
  const content: Record<string, string[]> = {}
  for (const { name } of await readShapes(store.db)) {
    const { rows } = await sql<{ row: string }>`select t::text as row from ${sql.table(name)} t order by 1`.execute(
      store.db,
    )
    content[name] = rows.map(({ row }) => row)
  }
  return content
}

describe.each(BACKENDS)('backup and restore on %s PostgreSQL', (_name, serverUrl) => {
  test('a drill: filled, saved while it runs, restored elsewhere, the same rows, and users sign in', async () => {
    await using stack = new AsyncDisposableStack()
    const { path: place } = stack.use(await temporaryDirectory())
    const { path: otherDir } = stack.use(await temporaryDirectory())
    const otherUrl = serverUrl === undefined ? undefined : stack.use(await createDatabase(serverUrl)).url
    const file = join(place, 'berth.backup')
    let content: Record<string, string[]>
    let masterKey: Buffer
    let resetToken: string
    const who = { email: 'kim@example.org', password: 'Their-own-pass-1' }
    {
      await using manager = await startTestManager({ serverUrl })
      await manager.addUser(who.email)
      const admin = await manager.signIn()
      await admin.api.createUser({
        body: {
          email: 'odd@example.org',
          name: 'Ö "quoted", \\back (slash) {brace} NULL',
          password: 'Their-own-pass-1',
        },
      })
      const { id } = (await admin.api.listUsers({ query: { search: who.email } })).items[0] ?? {}
      if (!id) throw new Error('the user is not there')
      const link = await admin.api.createAccountLink({ params: { id }, body: { purpose: 'reset' } })
      resetToken = link.url.split('token=')[1] ?? ''
      const source = { dataDir: manager.dataDir, databaseUrl: manager.config.databaseUrl }
      const masterKeyFile = join(manager.dataDir, 'master.key')
      masterKey = await readFile(masterKeyFile)
      content = await contentOf(source)
      const outcome = await backup({ ...source, file, masterKeyFile, passphrase: PASSPHRASE, log: silentLog })
      expect(outcome).toMatchObject({ rows: Object.values(content).flat().length, withKey: true })
      expect((await stat(file)).mode & 0o777).toBe(0o600)
      await expect(
        backup({ ...source, file, masterKeyFile, passphrase: undefined, log: silentLog }),
      ).rejects.toMatchObject({ code: 'bad_request' })
      // The one that was saved is in use.
      await expect(
        restore({
          dataDir: otherDir,
          databaseUrl: await urlOf(source),
          file,
          masterKeyFile: join(place, 'k'),
          passphrase: PASSPHRASE,
          log: silentLog,
        }),
      ).rejects.toMatchObject({ code: 'database_not_empty' })
    }

    const target = {
      dataDir: otherDir,
      databaseUrl: otherUrl,
      file,
      masterKeyFile: join(otherDir, 'master.key'),
      log: silentLog,
    }
    await expect(restore({ ...target, passphrase: undefined })).rejects.toMatchObject({ code: 'bad_request' })
    await expect(restore({ ...target, passphrase: 'another passphrase' })).rejects.toMatchObject({
      code: 'bad_request',
    })
    const cut = join(place, 'cut.backup')
    const bytes = await readFile(file)
    await writeFile(cut, bytes.subarray(0, bytes.length - 20))
    await expect(restore({ ...target, file: cut, passphrase: PASSPHRASE })).rejects.toMatchObject({
      code: 'backup_damaged',
    })
    await restore({ ...target, passphrase: PASSPHRASE })
    expect(await readFile(join(otherDir, 'master.key'))).toEqual(masterKey)
    expect((await stat(join(otherDir, 'master.key'))).mode & 0o777).toBe(0o600)
    const restoredContent = await contentOf(target)
    // A restored database starts paused.
    const isPause = (row: string) => row.startsWith('(scheduling_paused,')
    expect(restoredContent.settings?.filter(isPause)).toHaveLength(1)
    expect({ ...restoredContent, settings: restoredContent.settings?.filter(row => !isPause(row)) }).toEqual(content)

    await using restored = await startTestManager({ dataDir: otherDir, databaseUrl: otherUrl })
    // It may have been used since the backup: no link works twice.
    const again = restored.api().resetPassword({ body: { token: resetToken, password: 'Brand-new-pass-2' } })
    await expect(again).rejects.toMatchObject({ code: 'link_invalid' })
    const { api } = await restored.signIn(who)
    expect((await api.me()).user.email).toBe(who.email)
    const admin = await restored.signIn()
    expect((await admin.api.listUsers()).items.map(user => user.name)).toContain(
      'Ö "quoted", \\back (slash) {brace} NULL',
    )
  })
})

/** The embedded server of a manager that runs, as an address. */
async function urlOf({ dataDir, databaseUrl }: { dataDir: string; databaseUrl: string | undefined }) {
  if (databaseUrl !== undefined) return databaseUrl
  const lines = (await readFile(join(dataDir, 'db', 'cluster', 'postmaster.pid'), 'utf8')).split('\n')
  return `postgresql://berth@${encodeURIComponent(lines[4] ?? '')}/postgres`
}

test('the commands do it, tell what went wrong, and make nothing where nothing was', async () => {
  await using stack = new AsyncDisposableStack()
  const { path: place } = stack.use(await temporaryDirectory())
  const { path: otherDir } = stack.use(await temporaryDirectory())
  const environment = { ...process.env, DATABASE_URL: '' }
  const berth = (...args: string[]) => execute([join(root, 'bin/berth'), ...args], environment)
  const file = join(place, 'b')
  const none = await berth('backup', file, '--data', join(otherDir, 'none'))
  expect(none).toMatchObject({ code: 4, stderr: expect.stringContaining('There is no database') as string })
  await using manager = await startTestManager()
  const saved = await berth('backup', file, '--data', manager.dataDir, '--json')
  expect(saved.stderr).toBe('')
  expect(JSON.parse(saved.stdout)).toMatchObject({ file, withKey: false })
  expect(await berth('restore', file, '--data', otherDir)).toMatchObject({ code: 0, stderr: '' })
  const again = await berth('restore', file, '--data', otherDir)
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('database_not_empty') as string })
})
