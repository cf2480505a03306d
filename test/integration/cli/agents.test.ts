import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createCli } from '../../fixtures/cli.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** `berth admin agent` with updates and removals; the agents are scripted. */
let cluster: SessionsCluster
let cli: Awaited<ReturnType<typeof createCli>>
const opened = new AsyncDisposableStack()
beforeAll(async () => {
  cluster = opened.use(await startSessionsCluster({ updatesEveryMs: 50 }))
  cli = opened.use(await createCli())
  await cli.signIn(cluster.url)
})
afterEach(() => cluster.reset())
afterAll(() => opened.disposeAsync())

test('hosts are listed with the state of their updates, and one that Berth does not update is refused', async () => {
  await cluster.join({ name: 'by-package', program: { kind: 'package', digest: null, updates: false, busy: false } })
  const { out } = await cli.run(['admin', 'agent', 'ls'])
  expect(out).toMatch(/VERSION +UPDATE/)
  expect(out).toMatch(/by-package .* 0\.1\.0 +up to date/)
  expect(await cli.run(['admin', 'agent', 'update', 'by-package'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('agent_not_updatable') as string,
  })
})

test('a host leaves by one command, which says what stays, and may be called off before', async () => {
  const agent = await cluster.join({ name: 'leaving' })
  const { id } = await cluster.launch()
  await cluster.reach(id, 'RUNNING')
  const begun = await cli.run(['admin', 'agent', 'remove', 'leaving', '--images'])
  expect(begun.out).toContain('leaving: it leaves once its sessions have ended.')
  expect((await cli.run(['admin', 'agent', 'remove', 'leaving', '--cancel'])).out).toContain('leaving stays')
  const left = await cli.run(['admin', 'agent', 'remove', 'leaving', '--end-sessions', '--wait'])
  expect(left.out).toMatch(/leaving: it has left\.\nOn the host stay:\n- Images/)
  expect(agent.requests('leave_host')).toEqual([{ images: false }])
})
