import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type BackupRun, type SystemSettings, UserId } from '#manager/contract'
import { restore } from '../../../manager/backup/backup.ts'
import { type Backups, type BackupsDeps, createBackups } from '../../../manager/backup/backups.ts'
import { silentLog } from '../../../manager/log.ts'
import { type Mail } from '../../../manager/mail/mailer.ts'
import { parseSettings, toSystemSettings } from '../../../manager/settings/rules.ts'
import { insertUser } from '../../../manager/store/identity/users.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { listMessages } from '../../../manager/store/operation/messages.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { createTasks } from '../../../manager/tasks/tasks.ts'
import { DEFAULT_BACKEND, openDatabase } from '../../fixtures/database.ts'
import { startTestManager, temporaryDirectory } from '../../fixtures/manager.ts'
import { openTestStore, type TestStore } from '../../fixtures/test-store.ts'

/** Scheduled backups by managers on one database, with a clock that the tests set; then those of a whole manager. */
let world: TestStore
let store: Store
const superadmin = newId(UserId)
beforeAll(async () => {
  world = await openTestStore()
  store = world.store
  const who = { id: superadmin, email: 'root@example.org', name: 'Root', role: 'superadmin' } as const
  await insertUser(store.db, { ...who, password_hash: 'x', active: true })
})
afterAll(() => world[Symbol.asyncDispose]())
beforeEach(async () => {
  await store.db.deleteFrom('settings').where('key', '=', 'backups').execute()
  await store.db.deleteFrom('messages').execute()
})

const NIGHTLY = { backupAt: '03:00', backupTimeZone: 'UTC', backupKeep: 2 }

/** Managers that share a database, a clock and a directory. */
async function open(
  settings: object = NIGHTLY,
  deps: Partial<BackupsDeps> = {},
  changes: SystemSettings['changes'] = {},
) {
  const stack = new AsyncDisposableStack()
  const { path } = stack.use(await temporaryDirectory())
  const directory = join(path, 'backups')
  const clock = { now: Date.parse('2026-05-04T03:00:00Z') }
  const mails: Mail[] = []
  const events = { publish: () => undefined, publishStats: () => undefined }
  const aManager = (own: Partial<BackupsDeps> = {}): Backups =>
    stack.use(
      createBackups({
        store,
        tasks: createTasks({ store, events, log: silentLog }),
        settings: {
          read: () => Promise.resolve({ ...toSystemSettings(parseSettings(settings), true, changes), mailReady: true }),
        },
        mailer: { post: mail => void mails.push(mail) },
        events,
        directory,
        write: file => writeFile(file, 'x'),
        url: () => 'http://manager-1',
        log: silentLog,
        now: () => clock.now,
        ...deps,
        ...own,
      }),
    )
  return { directory, clock, mails, aManager, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}
const outcomeOf = async (one: Backups): Promise<BackupRun['outcome'] | undefined> => (await one.list()).last?.outcome
/** Waits until a backup that begins at this time has this outcome. */
const until = (one: Backups, outcome: BackupRun['outcome'], { now }: { readonly now: number }) =>
  expect.poll(async () => (await one.list()).last).toMatchObject({ outcome, startedAt: new Date(now).toISOString() })
const namesOf = async (one: Backups) => (await one.list()).items.map(({ name }) => name)

test('one manager of several makes a backup at each due time, and older ones go once a new one is complete', async () => {
  await using it = await open()
  const managers = [it.aManager(), it.aManager(), it.aManager()]
  const [one] = managers as [Backups]
  await writeFile(join(await made(it.directory), 'notes.txt'), 'not ours')
  for (const day of [4, 5, 6]) {
    it.clock.now = Date.parse(`2026-05-0${day}T03:00:20Z`)
    for (let looks = 0; looks < 2; looks++) await Promise.all(managers.map(manager => manager.check()))
    await until(one, 'done', it.clock)
  }
  expect(await namesOf(one)).toEqual(['berth-20260506-030020.backup', 'berth-20260505-030020.backup'])
  expect(await readdir(it.directory)).toHaveLength(3)
  const { last, lastDone, nextAt } = await one.list()
  expect(nextAt).toBe('2026-05-07T03:00:00.000Z')
  expect(last).toEqual(lastDone)
  expect(last).toMatchObject({ startedBy: null, bytes: 1, manager: 'http://manager-1', error: null })
})

test('a due time that passed without a manager is made up for, unless somebody has made a backup since', async () => {
  await using it = await open()
  it.clock.now = Date.parse('2026-05-04T15:00:00Z')
  const one = it.aManager()
  expect((await one.list()).nextAt).toBe('2026-05-04T03:00:00.000Z')
  await one.start('root@example.org')
  await until(one, 'done', it.clock)
  await one.check()
  expect(await namesOf(one)).toHaveLength(1)
  it.clock.now = Date.parse('2026-05-08T15:00:00Z')
  await one.check()
  await until(one, 'done', it.clock)
  expect(await namesOf(one)).toEqual(['berth-20260508-150000.backup', 'berth-20260504-150000.backup'])
})

test.each(['backupAt', 'backupTimeZone'])('a schedule whose %s was changed waits for its next time', async setting => {
  const at = '2026-05-04T15:00:00.000Z'
  await using it = await open(NIGHTLY, {}, { [setting]: { by: 'root@example.org', at } })
  it.clock.now = Date.parse(at)
  const one = it.aManager()
  await one.check()
  expect(await one.list()).toMatchObject({ last: null, nextAt: '2026-05-05T03:00:00.000Z' })
  it.clock.now = Date.parse('2026-05-05T15:00:00Z')
  await one.check()
  await until(one, 'done', it.clock)
})

test('without a time in the settings nothing is made', async () => {
  await using it = await open({})
  const one = it.aManager()
  await one.check()
  expect(await one.list()).toMatchObject({ items: [], nextAt: null, last: null, running: null })
})

test('a manager that stops leaves its backup to the next one; one that dies is a failure that superadmins are told of', async () => {
  const started = Promise.withResolvers<undefined>()
  const untilStopped: BackupsDeps['write'] = (_file, { signal }) => {
    started.resolve(undefined)
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  }
  await using it = await open()
  const stopping = it.aManager({ write: untilStopped })
  const next = it.aManager()
  await stopping.check()
  await started.promise
  await next.check()
  expect(await outcomeOf(next)).toBe('running')
  await stopping[Symbol.asyncDispose]()
  expect(await outcomeOf(next)).toBe('cancelled')
  await next.check()
  await until(next, 'done', it.clock)

  it.clock.now += 86_400_000
  const dead = Promise.withResolvers<never>()
  // The promise has no other listener if the test fails before the backup begins.
  dead.promise.catch(() => undefined)
  await it.aManager({ write: () => dead.promise }).check()
  try {
    await until(next, 'running', it.clock)
    // The dead manager gives no sign of life, and its row is deleted.
    await store.db.deleteFrom('tasks').where('status', '=', 'running').execute()
    await until(next, 'failed', it.clock)
    expect((await next.list()).last?.error).toMatchObject({
      code: 'unavailable',
      data: { cause: 'backup_interrupted' },
    })
    expect(await listMessages(store.db, superadmin)).toMatchObject([{ from: 'Berth', about: 'backup_failed' }])
    expect(it.mails.map(({ to, subject }) => [to, subject])).toEqual([['root@example.org', 'A backup failed']])
  } finally {
    dead.reject(new Error('the test has ended'))
  }
})

test('a full disk fails the backup, keeps the old ones, and is told once', async () => {
  await using it = await open({ ...NIGHTLY, backupKeep: 1 })
  const one = it.aManager()
  await one.check()
  await until(one, 'done', it.clock)
  it.clock.now += 86_400_000
  const noSpace = Object.assign(new Error('no space left on device'), { code: 'ENOSPC', syscall: 'write' })
  const full = it.aManager({ write: () => Promise.reject(noSpace) })
  await full.check()
  await until(full, 'failed', it.clock)
  await full.check()
  expect((await full.list()).last?.error).toMatchObject({ code: 'disk_full', data: { cause: 'backup_disk_full' } })
  expect(await namesOf(full)).toEqual(['berth-20260504-030000.backup'])
  await expect.poll(() => listMessages(store.db, superadmin)).toHaveLength(1)
  // Refused before the disk is really full, because the database may be on the same disk.
  const nearly = it.aManager({ floorBytes: 2 ** 60, write: () => Promise.reject(new Error('never called')) })
  const task = await nearly.start('root@example.org')
  // The last one failed as well: its starter determines who sees the failure.
  await expect
    .poll(async () => (await nearly.list()).last)
    .toMatchObject({ outcome: 'failed', error: { code: 'disk_full' }, startedBy: 'root@example.org' })
  expect(task.target).toBe('berth-20260505-030000.backup')
  // The superadmin who requested the backup sees the failure.
  expect(await listMessages(store.db, superadmin)).toHaveLength(1)
})

test('a directory that cannot be used is named, with what is wrong', async () => {
  await using it = await open()
  await writeFile(it.directory, 'a file')
  const one = it.aManager()
  await one.check()
  await until(one, 'failed', it.clock)
  const { problem, last } = await one.list()
  for (const told of [problem, last?.error])
    expect(told).toMatchObject({ code: 'backup_directory', data: { cause: 'backup_directory_refused' } })
})

test('half-written files are never listed, and go with the next backup', async () => {
  await using it = await open()
  const left = join(await made(it.directory), 'berth-20260501-030000.backup.partial-77')
  await writeFile(left, 'half')
  const one = it.aManager()
  expect(await namesOf(one)).toEqual([])
  await one.start('root@example.org')
  await until(one, 'done', it.clock)
  expect(await readdir(it.directory)).toEqual(['berth-20260504-030000.backup'])
})

test('superadmins make, list and delete backups, which can be restored', async () => {
  await using manager = await startTestManager()
  const { api } = await manager.signIn()
  const task = await api.createBackup()
  expect(task).toMatchObject({ kind: 'backup', startedBy: 'admin@localhost' })
  const ended = async () => (await api.getTask({ params: { id: task.id } })).status
  await expect.poll(ended).toBe('done')
  const { items, last, freeBytes, directory, problem } = await api.listBackups()
  expect(problem).toBeNull()
  expect(directory).toBe(join(manager.dataDir, 'backups'))
  expect(freeBytes).toBeGreaterThan(0)
  expect(last).toMatchObject({ outcome: 'done', name: task.target, bytes: items[0]?.bytes })
  const file = join(directory, task.target)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect((await stat(directory)).mode & 0o777).toBe(0o700)

  await using target = await temporaryDirectory()
  await using database = await openDatabase(DEFAULT_BACKEND)
  const into = { dataDir: target.path, databaseUrl: database.url, log: silentLog }
  expect(await restore({ ...into, file, masterKeyFile: '', passphrase: undefined })).toMatchObject({ withKey: false })

  const params = { name: task.target }
  await api.deleteBackup({ params })
  await expect(api.deleteBackup({ params })).rejects.toMatchObject({ code: 'backup_not_found' })
  expect((await api.listBackups()).items).toEqual([])
  const log = (await api.listAuditLog({ query: { limit: 20 } })).items
  expect(log.map(({ action, target }) => [action, target])).toEqual(
    expect.arrayContaining([
      ['deleteBackup', `backup:${task.target}`],
      ['createBackup', `backup:${task.id}`],
    ]),
  )
})

async function made(directory: string): Promise<string> {
  await mkdir(directory)
  return directory
}
