import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'

/** Rights to the downloads of a new host. The installation itself is in engine/add-host.test.ts. */
let manager: TestManager
beforeAll(async () => void (manager = await startTestManager()))
afterAll(() => manager[Symbol.asyncDispose]())

const SCRIPT = '/api/v1/host-setup/script'
const BUNDLE = `/api/v1/host-setup/bundles/${'0'.repeat(64)}`
const get = (path: string, token?: string, method = 'GET') =>
  fetch(manager.url + path, { method, headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })

test('the line of a join token names this manager and the script, with the token', async () => {
  const { api } = await manager.signIn()
  const { command, token, url } = await api.createJoinToken({ body: {} })
  expect(url).toBe(manager.url)
  expect(command).toContain(`Bearer ${token}`)
  expect(command).toContain(`'${manager.url}${SCRIPT}'`)
})

test('strangers, sign-ins and tokens whose maker is no superadmin any more get nothing', async () => {
  const { token: signIn } = await manager.signIn()
  const maker = await manager.addUser('maker@example.org', 'superadmin')
  const { token: ended } = await maker.api.createJoinToken({ body: {} })
  // The token is good so far: only the archive is not there.
  expect((await get(BUNDLE, ended)).status).toBe(404)
  const { api } = await manager.signIn()
  await api.updateUser({ params: { id: maker.id }, body: { role: 'user' } })
  for (const token of [undefined, signIn, 'A'.repeat(43), ended]) {
    expect((await get(BUNDLE, token)).status).toBe(401)
    expect(await (await get(SCRIPT, token)).text()).toMatch(/^printf '.*' '.*' >&2\nexit 1\n$/)
  }
})

test('a refused script is a script that says why', async () => {
  const answer = await get(SCRIPT, 'A'.repeat(43))
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toContain('shellscript')
  await expect(promisify(execFile)('sh', ['-c', await answer.text()])).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^berth: The join token is unknown.*Make a new line\.\n$/) as string,
  })
})

test('a download does not use the token up', async () => {
  const { api } = await manager.signIn()
  const { id, token } = await api.createJoinToken({ body: {} })
  expect((await get(BUNDLE, token, 'HEAD')).status).toBe(404)
  expect((await get(BUNDLE, token)).status).toBe(404)
  expect((await api.getJoinToken({ params: { id } })).agent).toBeNull()
})
