import { describe, expect, test } from 'vitest'
import { startPostgresHaproxy } from '../../fixtures/haproxy.ts'
import { startTestManager } from '../../fixtures/manager.ts'
import { hasPatroni, startPatroni } from '../../fixtures/patroni.ts'

const LONG = { timeout: 120_000, interval: 200 }

describe.skipIf(!hasPatroni)('behind HAProxy and Patroni, with the files of the guide', () => {
  test('a manager goes on after Patroni has promoted the standby, and after the old primary has come back', async () => {
    await using patroni = await startPatroni()
    const { members, password } = patroni
    const roles = async () => (await Promise.all(members.map(member => member.role()))).map(role => role ?? 'away')
    await expect.poll(async () => (await roles()).toSorted(), LONG).toEqual(['master', 'replica'])
    const [first, second] = members
    await using proxy = await startPostgresHaproxy({
      ports: [first.port, second.port],
      pages: [first.page, second.page],
    })
    const databaseUrl = `postgresql://postgres:${password}@127.0.0.1:${proxy.port}/postgres`
    await using manager = await startTestManager({ databaseUrl })
    const { api } = await manager.signIn()
    const add = (name: string) =>
      api.createDomain({ body: { name } }).then(
        () => true,
        (error: unknown) => (error as { code?: string }).code === 'domain_exists',
      )
    expect(await add('before')).toBe(true)
    const primary = members[(await roles()).indexOf('master')]
    await primary?.kill()
    await expect.poll(() => add('after'), LONG).toBe(true)
    await primary?.start()
    await expect.poll(async () => (await roles()).toSorted(), LONG).toEqual(['master', 'replica'])
    expect((await roles())[members.indexOf(primary ?? first)]).toBe('replica')
    await expect.poll(() => add('again'), LONG).toBe(true)
    const { items } = await api.listDomains()
    expect(items.map(({ name }) => name)).toEqual(expect.arrayContaining(['before', 'after', 'again']))
  })
})
