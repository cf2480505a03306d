import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient } from '#manager/contract'
import { createCli } from '../fixtures/cli.ts'
import { BUSYBOX_IMAGE, busyboxImage } from '../fixtures/docker.ts'
import { leftoversOf } from '../fixtures/leftovers.ts'
import { startTestManager } from '../fixtures/manager.ts'
import { type FreshRoot, openSystemdRoot } from '../packages/fresh-root.ts'

/**
 * The life of a host that the line installs, in a Debian 12 with a real systemd, its journal and the hardened unit: join, an agent that is
 * killed, an update that fails and one that works, and the end. Docker Engine and network are those of this computer.
 */
let root: FreshRoot
let api: ApiClient
let managerId: string
const opened = new AsyncDisposableStack()
let line: string

beforeAll(async () => {
  const packages = await mkdtemp(join(tmpdir(), 'berth-test-'))
  opened.defer(() => rm(packages, { recursive: true, force: true }))
  const manager = opened.use(await startTestManager({ timings: { updatesEveryMs: 250 } }))
  ;({ api } = await manager.signIn())
  managerId = manager.manager.managerId
  const cli = opened.use(await createCli())
  await cli.signIn(manager.url)
  ;[root] = await Promise.all([openSystemdRoot(packages), busyboxImage()])
  opened.use(root)
  line = (await cli.run(['admin', 'agent', 'join-token', '--command'])).out.trim()
})
afterAll(() => opened.disposeAsync())

const WAIT = { timeout: 120_000 }
const unit = async (property: string) =>
  (await root.shell(`systemctl show --value --property ${property} berth-agent`)).trim()

test('a host joins as a service, outlives its agent, is updated, and leaves nothing behind', async () => {
  // Two agents on one engine are refused, and tests run beside each other.
  await root.shell(`mkdir -m 700 /etc/berth; echo BERTH_AGENT_CLAIM=${root.name} >/etc/berth/agent.env`)
  expect(await root.shell(`{ ${line}; } 2>&1`)).toContain('This computer is a host of Berth now')
  const agentNow = async () => {
    const [agent] = (await api.listAgents()).items
    if (!agent) throw new Error('no agent')
    return agent
  }
  const { id: agentId } = await agentNow()
  const connected = () => expect.poll(async () => (await agentNow()).status, WAIT).toBe('CONNECTED')
  await connected()
  expect(await unit('UnitFileState')).toBe('enabled')
  expect(await root.shell('cat /etc/berth/agent.env')).not.toContain('BERTH_JOIN')

  const { items } = await api.createSession({
    body: { image: BUSYBOX_IMAGE, resources: { cpu: '0.1', mem: '67108864' } },
  })
  const [{ id } = { id: undefined }] = items
  if (id === undefined) throw new Error('no session')
  const session = async () => {
    const { status, startedAt } = await api.getSession({ params: { id } })
    return `${status} ${startedAt ?? ''}`
  }
  await expect.poll(session, WAIT).toMatch(/^RUNNING/)
  const before = await session()

  // systemd starts an agent again that was killed, and the session goes on.
  const pid = await unit('MainPID')
  await root.shell('systemctl kill --kill-whom=main --signal=KILL berth-agent')
  await expect.poll(() => unit('MainPID'), WAIT).not.toMatch(new RegExp(`^(0|${pid})$`))
  await connected()
  expect(await session()).toBe(before)

  // An update to a program that ends at once: the one of before comes back, and the page says why.
  const inUse = async () => (await root.shell('basename "$(readlink /opt/berth/current)"')).trim()
  const update = async () => (await api.getAgent({ params: { id: agentId } })).update
  const name = await inUse()
  await root.shell(`mkdir -p /etc/systemd/system/berth-agent.service.d
cat >/etc/systemd/system/berth-agent.service.d/broken.conf <<'END'
[Service]
ExecStartPre=/bin/sh -c 'case $$(readlink /opt/berth/current) in *-old) ;; *) echo "berth: No key."; exit 1 ;; esac'
END
systemctl daemon-reload
cp -a /opt/berth/${name} /opt/berth/0.0.9-old
sed -i 's/"digest":"../"digest":"00/' /opt/berth/0.0.9-old/program.json
ln -sfn /opt/berth/0.0.9-old /opt/berth/current
rm -rf /opt/berth/${name}
systemctl restart berth-agent`)
  await expect.poll(async () => (await update()).why, WAIT).toBe('The agent ended: No key.')
  expect(await inUse()).toBe('0.0.9-old')
  await connected()

  await root.shell('rm -r /etc/systemd/system/berth-agent.service.d; systemctl daemon-reload')
  await api.updateAgentProgram({ params: { id: agentId } })
  await expect.poll(async () => (await update()).state, WAIT).toBe('current')
  expect(await inUse()).toBe(name)
  await connected()
  expect(await session()).toBe(before)

  await api.removeAgent({ params: { id: agentId }, body: { sessions: 'end' } })
  const step = async () => (await api.getAgent({ params: { id: agentId } })).removal?.step
  await expect.poll(step, WAIT).toBe('removed')
  expect(await session()).toMatch(/^TERMINATED/)
  const places = `/opt/berth /etc/berth /etc/systemd/system/berth-agent.service ${root.data}/agent`
  await expect.poll(() => root.shell(`ls -d ${places} 2>/dev/null || true`), WAIT).toBe('')
  await expect.poll(() => unit('LoadState'), WAIT).toBe('not-found')
  expect(await root.shell('systemctl --failed --no-legend --no-pager')).toBe('')
  expect(await leftoversOf(managerId)).toEqual({ containers: [], networks: [], volumes: [] })
})
