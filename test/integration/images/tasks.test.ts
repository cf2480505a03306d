import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NOTHING_YET } from '../../../manager/registries/rescan.ts'
import { createTasks, type TaskSpec } from '../../../manager/tasks/tasks.ts'
import { silentLog } from '../../../manager/log.ts'
import { deleteOutdated } from '../../../manager/store/operation/retention.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { openTestStore, type TestStore } from '../../fixtures/test-store.ts'

/** Long tasks of several managers on one database. */
let world: TestStore
let store: Store
beforeAll(async () => {
  world = await openTestStore()
  store = world.store
})
afterAll(() => world[Symbol.asyncDispose]())

const events = { publish: () => undefined, publishStats: () => undefined }
const aManager = () => createTasks({ store, events, log: silentLog })
const detail = { rescan: NOTHING_YET, pull: null }
const aRescan = (target: string, run: TaskSpec['run']): TaskSpec => {
  return { kind: 'rescan', target, startedBy: 'admin@localhost', detail, run }
}
const untilAborted: TaskSpec['run'] = ({ signal }) =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true })
  })

test('a task runs at one manager, and every manager lists and cancels it', async () => {
  await using one = aManager()
  await using two = aManager()
  const task = await one.start(aRescan('a', untilAborted))
  expect(await two.start(aRescan('a', untilAborted))).toMatchObject({ id: task.id })
  expect(await two.get(task.id)).toMatchObject({ status: 'running' })
  await two.cancel(task.id)
  await expect.poll(async () => (await two.get(task.id)).status).toBe('cancelled')
  const again = await two.start(aRescan('a', () => Promise.resolve()))
  expect(again.id).not.toBe(task.id)
  await expect.poll(async () => (await one.get(again.id)).status).toBe('done')
})

test('a task of a manager that died ends as cancelled, and another one may start', async () => {
  await using dead = aManager()
  const task = await dead.start(aRescan('b', untilAborted))
  await using alive = aManager()
  // From now on the dead manager gives no sign of life.
  const silence = async () => {
    await sql`update tasks set seen_at = now() - interval '1 minute' where id = ${task.id}`.execute(store.db)
  }
  await silence()
  const next = await alive.start(aRescan('b', () => Promise.resolve()))
  expect(next.id).not.toBe(task.id)
  expect(await alive.get(task.id)).toMatchObject({
    status: 'cancelled',
    error: { message: 'The manager that ran the task has stopped. Start the task again.' },
  })
})

test('an unexpected failure of a task reveals no internals', async () => {
  await using tasks = aManager()
  const { id } = await tasks.start(aRescan('c', () => Promise.reject(new Error('password is x'))))
  await expect.poll(async () => (await tasks.get(id)).status).toBe('failed')
  expect((await tasks.get(id)).error).toEqual({ code: 'internal', message: 'Unexpected failure' })
})

test('progress is written during the task, and old tasks are deleted', async () => {
  await using tasks = aManager()
  const old = await tasks.start(aRescan('d', () => Promise.resolve()))
  await expect.poll(async () => (await tasks.get(old.id)).status).toBe('done')
  await sql`update tasks set ended_at = now() - interval '8 days' where id = ${old.id}`.execute(store.db)
  expect(await deleteOutdated(store.db, 'tasks', 100)).toBe(1)
  const task = await tasks.start(
    aRescan('e', ({ report, ...rest }) => {
      report({ rescan: { ...NOTHING_YET, tagsDone: 7 }, pull: null })
      return untilAborted({ report, ...rest })
    }),
  )
  await expect.poll(async () => (await tasks.get(task.id)).rescan?.tagsDone).toBe(7)
  await expect(tasks.get(old.id)).rejects.toMatchObject({ code: 'task_not_found' })
  await tasks.cancel(task.id)
  expect((await tasks.get(task.id)).rescan?.tagsDone).toBe(7)
})
