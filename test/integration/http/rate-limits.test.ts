import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { signRequest, type SigningKeypair } from '#manager/contract'
import { silentLog } from '../../../manager/log.ts'
import { openStore } from '../../../manager/store/open-store.ts'
import { createRateLimits } from '../../../manager/users/rate-limits.ts'
import { createDatabase } from '../../fixtures/database.ts'
import { startTestManager, temporaryDirectory, type TestManager } from '../../fixtures/manager.ts'
import { rawRequest, type RawReply } from '../../fixtures/raw-http.ts'

let manager: TestManager
beforeAll(async () => {
  manager = await startTestManager()
})
afterAll(() => manager[Symbol.asyncDispose]())

describe('the rate limit of a keypair', () => {
  test('answers state the limit, requests beyond it are refused, and other keypairs do not use it up', async () => {
    const admin = (await manager.signIn()).api
    const limited = await admin.createKeypair({ body: { rateLimit: 3 } })
    const url = `${manager.url}/api/v1/me`
    const sign = (who: SigningKeypair) => signRequest({ method: 'GET', url }, who)
    const ask = async (who: SigningKeypair) => rawRequest(url, { headers: await sign(who) })
    const told = ({ headers }: RawReply) =>
      ['limit', 'remaining', 'window'].map(name => Number(headers[`x-ratelimit-${name}`]))
    expect(told(await ask(limited))).toEqual([3, 2, 900])
    expect((await ask({ ...limited, secretKey: 'guess' })).status).toBe(401)
    const headers = await sign(limited)
    expect(told(await rawRequest(url, { headers }))).toEqual([3, 1, 900])
    expect((await rawRequest(url, { headers })).json).toMatchObject({ code: 'signature_replayed' })
    expect(told(await ask(limited))).toEqual([3, 0, 900])
    const refused = await ask(limited)
    expect(refused).toMatchObject({ status: 429, json: { code: 'rate_limited' } })
    expect(told(refused)).toEqual([3, 0, 900])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(800)
    expect(told(await rawRequest(`${manager.url}/healthz`))).toEqual([1000, 1000, 900])
    await admin.updateKeypair({ params: limited, body: { rateLimit: 4 } })
    expect((await ask(limited)).status).toBe(200)
    await expect
      .poll(async () => {
        const { items } = await admin.listKeypairs({ query: { limit: 500 } })
        return items.find(one => one.accessKey === limited.accessKey)?.lastUsedAt
      })
      .not.toBeNull()
  })

  test('the limit holds across managers, apart from what they have not exchanged yet, and its window moves', async () => {
    const minute = 60_000
    let time = Math.floor(Date.now() / minute) * minute
    await using data = await temporaryDirectory()
    await using database = process.env.TEST_DATABASE_URL
      ? await createDatabase(process.env.TEST_DATABASE_URL)
      : undefined
    const { accessKey } = await (async () => {
      await using first = await startTestManager({ dataDir: data.path, databaseUrl: database?.url })
      return await (await first.signIn()).api.createKeypair({ body: {} })
    })()
    await using store = await openStore({ dataDir: data.path, databaseUrl: database?.url, log: silentLog })
    const make = () => createRateLimits({ store, log: silentLog, now: () => time })
    await using one = make()
    await using two = make()
    const takes = async (limits: typeof one, times: number) => {
      for (let i = 0; i < times; i++) await limits.take(accessKey, 10)
    }
    await takes(one, 6)
    await one.share()
    time += 1500
    expect(await two.take(accessKey, 10)).toEqual({ limit: 10, remaining: 3 })
    await takes(two, 3)
    await expect(two.take(accessKey, 10)).rejects.toMatchObject({ code: 'rate_limited' })
    // Manager one does not know yet which requests manager two has admitted since: this is the overshoot.
    await takes(one, 0)
    await two.share()
    time += 1500
    await expect(one.take(accessKey, 10)).rejects.toMatchObject({ detail: { limit: 10 } })
    time += 15 * minute
    await expect(one.take(accessKey, 10)).rejects.toMatchObject({ code: 'rate_limited' })
    time += minute
    await takes(one, 10)
    await expect(one.take(accessKey, 10)).rejects.toMatchObject({ code: 'rate_limited' })
    await one.share()
    const third = make()
    await expect(third.take(accessKey, 10)).rejects.toMatchObject({ code: 'rate_limited' })
    await third[Symbol.asyncDispose]()
  })
})
