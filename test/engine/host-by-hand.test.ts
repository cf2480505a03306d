import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root as clone } from '../fixtures/berth.ts'
import { createCli } from '../fixtures/cli.ts'
import { BUSYBOX_IMAGE, busyboxImage, TOOLBOX_IMAGE } from '../fixtures/docker.ts'
import { startTestManager } from '../fixtures/manager.ts'
import { blocksOf, commandsIn } from '../fixtures/page-blocks.ts'
import { openSystemdRoot } from '../packages/fresh-root.ts'

/**
 * A host that joins by the lines of docs/admin/agents.md, in a Debian 12 with a real systemd. Docker Engine and network are those of this
 * computer.
 */
const GUIDE = new URL('../../docs/admin/agents.md', import.meta.url)
const WAIT = { timeout: 120_000 }

/** Commands in the shell blocks of a section of the guide. */
async function commandsOf(section: string): Promise<string[]> {
  const [, text = ''] = (await readFile(GUIDE, 'utf8')).split(`\n## ${section}\n`)
  const [own = ''] = text.split('\n## ')
  return blocksOf(own, 'sh').flatMap(commandsIn)
}

test('a host joins by hand from a clone, as a service, and needs the join string only once', async () => {
  await using stack = new AsyncDisposableStack()
  const packages = await mkdtemp(join(tmpdir(), 'berth-test-'))
  stack.defer(() => rm(packages, { recursive: true, force: true }))
  const manager = stack.use(await startTestManager())
  const { api } = await manager.signIn()
  const cli = stack.use(await createCli())
  await cli.signIn(manager.url)
  // A computer on which `npm ci` was run has a Node.
  const mounts = [`${clone}:/opt/berth:ro`, `${process.execPath}:/usr/local/bin/node:ro`]
  const [host] = await Promise.all([
    openSystemdRoot(
      packages,
      mounts.flatMap(one => ['-v', one]),
    ),
    busyboxImage(),
  ])
  stack.use(host)
  const { shell } = host
  await shell('DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends iptables')

  const { out: invitation } = await cli.run(['admin', 'agent', 'join-token'])
  const [addToken = '', start = ''] = await commandsOf('A host by hand')
  const install = await commandsOf('As a service')
  expect(install.pop()).toBe(start)
  for (const line of install) await shell(line)
  await shell(addToken.replace('STRING', invitation.trim()))
  // Tests run beside each other on an engine, for which the data directory has to be at the same path.
  const here = { BERTH_DATA: host.data, BERTH_AGENT_CLAIM: host.name, BERTH_TOOLBOX_IMAGE: TOOLBOX_IMAGE }
  for (const [name, value] of Object.entries(here)) await shell(`echo ${name}=${value} >> /etc/berth/agent.env`)
  await shell(start)

  const agentsNow = async () => (await cli.run(['admin', 'agent', 'ls'])).out
  // "`berth admin agent ls` then shows the host as `CONNECTED`, with isolation `full`."
  await expect.poll(agentsNow, WAIT).toMatch(/CONNECTED .*full/)
  const [agent] = (await api.listAgents()).items
  const { items } = await api.createSession({
    body: { image: BUSYBOX_IMAGE, resources: { cpu: '0.1', mem: '67108864' } },
  })
  const [{ id } = { id: undefined }] = items
  if (id === undefined || agent === undefined) throw new Error('no session')
  const status = async () => (await api.getSession({ params: { id } })).status
  await expect.poll(status, WAIT).toBe('RUNNING')

  // "Only the first start needs the join string."
  await shell('sed -i /^BERTH_JOIN=/d /etc/berth/agent.env && systemctl restart berth-agent')
  const ready = () =>
    shell(`journalctl _SYSTEMD_INVOCATION_ID=$(systemctl show --value --property InvocationID berth-agent)`)
  await expect.poll(ready, WAIT).toContain('"ready":"agent"')
  expect((await api.listAgents()).items).toMatchObject([{ id: agent.id, status: 'CONNECTED' }])
  expect(await status()).toBe('RUNNING')
  await api.deleteSession({ params: { id } })
  await expect.poll(status, WAIT).toBe('TERMINATED')
})
