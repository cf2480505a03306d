import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AgentId } from '#manager/contract'
import { newId } from '../../manager/store/new-id.ts'
import { type AgentHome, type AgentProcess, createAgentHome, spawnAgent } from '../fixtures/agent-process.ts'
import { addressOf, BUSYBOX_IMAGE, busyboxImage, docker, madeContainer } from '../fixtures/docker.ts'
import { removeEverythingOf } from '../fixtures/leftovers.ts'
import { ADMIN, temporaryDirectory } from '../fixtures/manager.ts'
import { sshExec } from '../fixtures/session-ssh.ts'
import { type SessionsCluster, startSessionsCluster } from '../fixtures/sessions-cluster.ts'
import { inTerminal } from '../fixtures/terminal.ts'
import { removeData } from '../fixtures/unmount-below.ts'

/** Apps and connections that were open when the agent's data directory was lost. */
const stack = new AsyncDisposableStack()
let cluster: SessionsCluster

beforeAll(async () => {
  cluster = stack.use(await startSessionsCluster({ slowTickMs: 500 }))
})
afterAll(async () => {
  const { managerId } = cluster.manager
  await stack.disposeAsync()
  await removeEverythingOf(managerId)
})

const joinString = async (replaces?: AgentId) => (await cluster.api.createJoinToken({ body: { replaces } })).join
const start = async (home: AgentHome, environment: Record<string, string>): Promise<AgentProcess> =>
  stack.use(await spawnAgent(home, environment))
const launchable = async (image: string) =>
  (await cluster.api.listImages({})).items.some(({ reference }) => reference === image)

test('SSH and a running app keep working after the data directory of the agent was lost', async () => {
  const { api } = cluster
  const image = `berth-test/replaced-app:${newId(AgentId)}`
  await busyboxImage()
  await using source = await madeContainer({ Image: BUSYBOX_IMAGE, Cmd: ['none'] })
  const app = {
    ...{ name: 'web', title: 'Web', protocol: 'http', path: '/', port: 8080, secret: 'jupyter' },
    ...{ command: ['httpd', '-f', '-p', '{port}'], env: { TOKEN: '{secret}' } },
  }
  const [repo, tag] = image.split(':')
  await source.commit({ repo, tag, changes: `LABEL berth.image.apps=${JSON.stringify(JSON.stringify([app]))}` })
  stack.defer(() => docker.getImage(image).remove({ force: true }))

  const lost = stack.use(await createAgentHome())
  const first = await start(lost, { BERTH_JOIN: await joinString() })
  const agentId = AgentId.parse((await first.firstLine).agentId)
  await expect.poll(() => launchable(image)).toBe(true)
  const { id } = await cluster.launch({ image, resources: { cpu: '0.1', mem: '64m' } })
  await cluster.reach(id, 'RUNNING')
  const grant = (name: string) => api.createGrant({ params: { id, app: name } })
  const { inject } = await grant('web')
  await grant('sshd')
  const keys = await api.getSshAccess({ params: { id } })

  first.kill('SIGKILL')
  await first.exited
  await removeData(join(lost.data, 'agent'))
  const fresh = { ...lost, data: stack.use(await temporaryDirectory()).path }
  const second = await start(fresh, { BERTH_JOIN: await joinString(agentId), BERTH_AGENT_REPLACE: '1' })
  expect(await second.firstLine).toEqual({ ready: 'agent', agentId })
  await expect.poll(async () => (await api.getSession({ params: { id } })).reachable).toBe(true)
  expect((await grant('web')).inject).toEqual(inject)
  // Concurrently, like `berth ssh` requests them.
  const [renewed] = await Promise.all([api.getSshAccess({ params: { id } }), grant('sshd')])
  expect(renewed.hostKey).not.toBe(keys.hostKey)
  const { kernels } = await api.getSession({ params: { id } })
  const address = await addressOf(kernels[0]?.containerId ?? '')
  const target = { address, privateKey: renewed.privateKey, hostKey: renewed.hostKey.split(' ')[1] ?? '' }
  expect(await sshExec(target, 'echo $GREETING from $HOME')).toBe('hello from /home/work\n')

  const { token } = await api.login({ body: { ...ADMIN, kind: 'token' } })
  await inTerminal({ url: cluster.url, token: token ?? '' }, id, 'echo typed-$((40 + 2))', /typed-42/)

  // The agent that had the keys created still knows them after its own restart.
  second.kill('SIGKILL')
  await second.exited
  const third = await start(fresh, {})
  expect(await third.firstLine).toEqual({ ready: 'agent', agentId })
  await expect.poll(async () => (await api.getSession({ params: { id } })).reachable).toBe(true)
  await grant('sshd')
  expect(await api.getSshAccess({ params: { id } })).toEqual(renewed)
  expect(await sshExec(target, 'echo again')).toBe('again\n')
  await api.deleteSession({ params: { id } })
  await cluster.reach(id, 'TERMINATED')
})
