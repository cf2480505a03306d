import { afterAll, beforeAll, expect, test } from 'vitest'
import { PublishedAppId } from '#manager/contract'
import { createPublishedApps } from '../../../manager/grants/published-apps.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { insertPublished } from '../../../manager/store/sessions/published-apps.ts'
import { type ChangeListener } from '../../../manager/users/login-ends.ts'
import { insertWaiting, openTestStore, type TestStore } from '../../fixtures/test-store.ts'

let opened: TestStore
beforeAll(async () => void (opened = await openTestStore()))
afterAll(() => opened[Symbol.asyncDispose]())

/** Here no round of looking at all links comes before the test is over. */
const NEVER_MS = 3_600_000

test('a link in use ends with the news that its owner was deactivated', async () => {
  const { store, ownerId } = opened
  const [sessionId] = await insertWaiting(store.db, ownerId, [{}])
  if (!sessionId) throw new Error('no session')
  const id = newId(PublishedAppId)
  const place = { name: 'a-name', port: null, sessionId, app: 'jupyter', userId: ownerId }
  await insertPublished(store.db, { id, ...place, passwordHash: null, addresses: [], lifetimeMs: NEVER_MS })
  const listeners = new Set<ChangeListener>()
  const onChange = (listener: ChangeListener) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  const unused = {} as never
  const deps = { box: unused, passwords: unused, settings: unused, grants: unused, address: undefined }
  const apps = createPublishedApps({ ...deps, store, logins: { onChange }, recheckMs: NEVER_MS })
  const ended: string[] = []
  apps.onEnd(one => ended.push(one))
  apps.watch(id)

  await store.db.updateTable('users').set({ active: false }).where('id', '=', ownerId).execute()
  expect(ended).toEqual([])
  listeners.forEach(listener => listener(null))
  await expect.poll(() => ended).toEqual([id])
  apps[Symbol.dispose]()
  expect(listeners.size).toBe(0)
})
