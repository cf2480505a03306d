import { execFile } from 'node:child_process'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, type FolderId, isAppError } from '#manager/contract'
import { heldRequest } from '../../fixtures/held-request.ts'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'

/** Any number of lists, searches and copies of one person. */

let manager: TestManager
let ann: { readonly api: ApiClient; readonly folder: FolderId }
let bob: { readonly api: ApiClient; readonly folder: FolderId }
const directoryOf = (id: FolderId) => join(manager.dataDir, 'storage', 'folders', id)
const person = async (email: string) => {
  const { api } = await manager.addUser(email)
  return { api, folder: (await api.createFolder({ body: { name: 'data' } })).id }
}
beforeAll(async () => {
  manager = await startTestManager()
  ann = await person('ann@example.org')
  bob = await person('bob@example.org')
  await promisify(execFile)('sh', ['-c', 'seq 5000 | xargs touch'], { cwd: directoryOf(ann.folder) })
})
afterAll(() => manager[Symbol.asyncDispose]())

const codes = (results: readonly PromiseSettledResult<unknown>[]) =>
  results.flatMap(one => (one.status === 'rejected' && isAppError(one.reason) ? [one.reason.code] : []))

test.each<[string, () => Promise<unknown>]>([
  ['lists', () => ann.api.listFiles({ params: { id: ann.folder }, query: { sort: 'size', limit: '10' } })],
  ['searches', () => ann.api.searchFiles({ params: { id: ann.folder }, query: { text: 'no such name' } })],
])('%s of one person are bounded, and those of others are answered', async (_what, ask) => {
  const flood = Promise.allSettled(Array.from({ length: 200 }, ask))
  const { items } = await bob.api.listFiles({ params: { id: bob.folder }, query: { sort: 'size' } })
  expect(items).toEqual([])
  const refused = codes(await flood)
  expect(new Set(refused)).toEqual(new Set(['rate_limited']))
  expect(refused.length).toBeLessThan(200)
  await ask()
})

test('copies of one person are bounded, and a new one begins when one of them has ended', async () => {
  const params = { id: ann.folder }
  await writeFile(join(directoryOf(ann.folder), 'large'), '')
  await truncate(join(directoryOf(ann.folder), 'large'), 64 * 2 ** 30)
  const copy = () => ann.api.copyFiles({ params, body: { paths: ['large'], to: '', onConflict: 'rename' } })
  const begun = await Promise.all(Array.from({ length: 8 }, copy))
  await expect(copy()).rejects.toMatchObject({ code: 'rate_limited', detail: { cause: 'copies_of_person' } })
  const clone = ann.api.cloneFolder({ params, body: { name: 'all' } })
  await expect(clone).rejects.toMatchObject({ code: 'rate_limited', detail: { cause: 'copies_of_person' } })
  expect((await ann.api.listFolders()).items.map(({ name }) => name)).toEqual(['data'])
  await bob.api.makeDirectory({ params: { id: bob.folder }, body: { path: 'of-bob' } })
  await bob.api.copyFiles({ params: { id: bob.folder }, body: { paths: ['of-bob'], to: '', onConflict: 'rename' } })
  const [first] = begun
  await ann.api.cancelCopy({ params: { ...params, taskId: first?.task?.id ?? '' } })
  await expect
    .poll(() =>
      copy().then(
        ({ task }) => task?.status,
        () => 'refused',
      ),
    )
    .toBe('running')
  await ann.api.logout()
})

test('files that one person writes whole at the same time are bounded', async () => {
  const { token } = await manager.signIn({ email: 'ann@example.org', password: 'Their-own-pass-1' })
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/octet-stream',
    'if-none-match': '*',
  }
  const url = (name: string) => `${manager.url}/api/v1/folders/${ann.folder}/content?path=${name}`
  using stack = new DisposableStack()
  const held = Array.from({ length: 17 }, (_, at) =>
    stack.use(heldRequest(url(`file-${at}`), { method: 'PUT', headers, length: 2 })),
  )
  await Promise.all(held.map(({ begun }) => begun))
  for (const one of held) one.send('x')
  const first = await Promise.race(held.map(async one => ({ one, answer: await one.answer })))
  expect(first.answer.status).toBe(429)
  const others = held.filter(one => one !== first.one)
  for (const one of others) one.send('y')
  expect(await Promise.all(others.map(async ({ answer }) => (await answer).status))).toEqual(others.map(() => 200))
})
