import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient } from '#manager/contract'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'

/** News of an account stay, whoever has access to it (ADR 75). */

let manager: TestManager
let admin: ApiClient
beforeAll(async () => {
  manager = await startTestManager()
  admin = (await manager.signIn()).api
})
afterAll(() => manager[Symbol.asyncDispose]())

test('whoever is in an account clears the messages, and the news of the account stay', async () => {
  const { id, api: inside } = await manager.addUser('ann@example.org')
  await admin.createAccountLink({ params: { id }, body: { purpose: 'reset' } })
  const { accessKey } = await inside.createKeypair({ body: {} })
  const [newest] = (await inside.listMessages()).items
  await inside.clearMessages({ query: { until: newest?.id ?? '' } })
  expect((await inside.listMessages()).items).toEqual([])
  // Once more, like somebody who tries again.
  await inside.clearMessages({ query: { until: newest?.id ?? '' } })
  const { items, nextCursor } = await inside.listAccountNews({ query: {} })
  expect(items.map(({ about, detail, from }) => [about, detail, from])).toEqual([
    ['own_keypair_made', accessKey, 'ann@example.org'],
    ['password_link', '', 'admin@localhost'],
    ['account_made_password', '', 'admin@localhost'],
  ])
  expect(nextCursor).toBeNull()
})

test('many news push none away: they are read page by page', async () => {
  const { api: inside } = await manager.addUser('bob@example.org')
  const { accessKey } = await inside.createKeypair({ body: {} })
  for (const active of [false, true, false, true])
    await inside.updateKeypair({ params: { accessKey }, body: { active } })
  const first = await inside.listAccountNews({ query: { limit: 2 } })
  expect(first.items.map(({ about }) => about)).toEqual(['own_keypair_activated', 'own_keypair_activated'])
  const rest = await inside.listAccountNews({ query: { limit: 2, cursor: first.nextCursor ?? '' } })
  expect(rest).toMatchObject({
    items: [{ about: 'own_keypair_made' }, { about: 'account_made_password' }],
    nextCursor: null,
  })
  await expect(inside.listAccountNews({ query: { cursor: 'x' } })).rejects.toMatchObject({ code: 'bad_request' })
})

test('the news are of the own account alone', async () => {
  const { api } = await manager.addUser('eve@example.org')
  expect((await api.listAccountNews({ query: {} })).items).toMatchObject([{ about: 'account_made_password' }])
})
