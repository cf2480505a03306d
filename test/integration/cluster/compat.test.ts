import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type ApiClient, type SigningKeypair } from '#manager/contract'
import { compatClient, openCompat } from '../../fixtures/compat-client.ts'
import { type Managers, startManagers } from '../../fixtures/managers.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'

/** The adapter for clients of Backend.AI at two managers on one database: each opens the port on its own address. */
const stack = new AsyncDisposableStack()
let managers: Managers
let api: ApiClient
let keypair: SigningKeypair
beforeAll(async () => {
  managers = stack.use(await startManagers())
  const first = await managers.start({ allowedHosts: ['berth.example.org'] })
  await managers.start({ host: '127.0.0.2', allowedHosts: ['berth.example.org'] })
  api = (await managers.admin(first)).api
  keypair = await api.createKeypair({ body: {} })
})
afterAll(() => stack.disposeAsync())

test('every manager follows the setting, and a signature that one has accepted is used up at the other', async () => {
  const port = await openCompat(api)
  const client = compatClient(port, keypair)
  // Behind one name, as a load balancer has them.
  const host = 'berth.example.org'
  await vi.waitFor(
    async () => expect((await rawRequest(`http://127.0.0.2:${port}/`, { headers: { host } })).status).toBe(200),
    { timeout: 120_000 },
  )
  const headers = client.sign('GET', '/folders', { host })
  expect(await rawRequest(`http://127.0.0.2:${port}/folders`, { headers })).toMatchObject({ status: 200, json: [] })
  const again = await rawRequest(`http://127.0.0.1:${port}/folders`, { headers })
  expect(again).toMatchObject({ status: 401, json: { error_code: 'signature_replayed' } })
  await api.updateSettings({ body: { backendAiPort: null } })
  await vi.waitFor(
    () =>
      expect(rawRequest(`http://127.0.0.2:${port}/`, { headers: { host } })).rejects.toMatchObject({
        code: 'ECONNREFUSED',
      }),
    { timeout: 120_000 },
  )
})
