import { once } from 'node:events'
import { isDeepStrictEqual } from 'node:util'
import { WebSocket } from 'ws'
import { type AgentId, type ApiClient, type Agent as AgentView, isAppError, type SessionId } from '#manager/contract'
import { CONTROL_PATH, CONTROL_PROTOCOL } from '#agent/contract'
import { ADMIN, apiOf, temporaryDirectory } from '../fixtures/manager.ts'
import { startDatabase } from '../fixtures/postgres.ts'
import { ScriptedAgent, ScriptedError } from '../fixtures/scripted-agent.ts'
import { Victim } from '../integration/hostile/victim.ts'
import { FROM_AGENT, frameOf, type Known, REPLIES, shapingOf } from './agent-protocol.ts'
import { type Random } from './random.ts'
import { valueOf } from './shapes.ts'
import { type FuzzTarget, within } from './target.ts'

const AT_ONCE = 8
const QUICK_MS = 1_000
const MORE_BYTES = 400 * 2 ** 20
const MORE_DESCRIPTORS = 120
const CODES = ['internal', 'kernel_create_failed', 'kernel_not_found', 'not_signed_in', '__proto__', '']

/**
 * A manager that gets random data from agents that it has accepted: messages, answers to its requests, and handshakes. A well-behaved agent
 * in another resource group must not be affected.
 */
export const fromAgentTarget: FuzzTarget = {
  name: 'from-agent',
  atOnce: AT_ONCE,
  weight: 0.2,
  async start() {
    const stack = new AsyncDisposableStack()
    const { url: databaseUrl } = stack.use(await startDatabase())
    const { path: dataDir } = stack.use(await temporaryDirectory())
    const victim = stack.use(
      await Victim.start('manager/main.ts', {
        BERTH_DATA: dataDir,
        BERTH_PORT: '0',
        DATABASE_URL: databaseUrl,
        BERTH_ADMIN_PASSWORD: ADMIN.password,
      }),
    )
    const url = victim.ready.url as string
    const { token } = await apiOf(url).login({ body: { ...ADMIN, kind: 'token' } })
    const api = apiOf(url, token ?? '')
    const bystander = stack.use(await joined(api, url, 'bystander'))
    const { items } = await api.createSession({ body: { image: 'berth/python:3.13', resourceGroup: 'bystander' } })
    const known = { ids: [] as string[], labels: [] as unknown[] }
    const session = items[0]?.id as SessionId
    await until(
      'the session runs',
      async () => (await api.getSession({ params: { id: session } })).status === 'RUNNING',
    )
    for (const [kernelId, { label }] of bystander.containers) {
      known.labels.push(label)
      known.ids.push(kernelId, label.sessionId, label.owner.id, label.managerId, bystander.id)
    }
    const before = await viewOf(api, bystander.id, session)
    const idle: ScriptedAgent[] = []
    for (let i = 0; i < AT_ONCE; i++) {
      const agent = stack.use(await joined(api, url, 'wild'))
      known.ids.push(agent.id)
      idle.push(agent)
    }
    const descriptors = await victim.descriptors()
    const bytes = await victim.residentBytes()

    return {
      async input(random) {
        const agent = idle.pop()
        if (!agent) throw new Error('more inputs at once than agents')
        try {
          answerWildly(agent, random, known)
          const kind = random.next()
          if (kind < 0.03) await shakeHands(url, random, known)
          else if (kind < 0.05) await askedByAdmin(api, agent.id)
          else if (kind < 0.06) await launched(api, random, known)
          else await say(agent, random, known)
        } finally {
          idle.push(agent)
        }
      },
      async check() {
        victim.assertAlive()
        const since = performance.now()
        await fetch(`${url}/healthz`)
        const tookMs = performance.now() - since
        if (tookMs > QUICK_MS) throw new Error(`/healthz took ${Math.round(tookMs)} ms`)
        const after = await viewOf(api, bystander.id, session)
        if (!isDeepStrictEqual(before, after))
          throw new Error(`the bystander was ${JSON.stringify(before)} and is ${JSON.stringify(after)}`)
        if (victim.complaints.length > 0) throw new Error(`the manager says ${victim.complaints.join('\n')}`)
        const more = (await victim.descriptors()) - descriptors
        if (more > MORE_DESCRIPTORS) throw new Error(`${more} more descriptors than at the start`)
        const moreBytes = (await victim.residentBytes()) - bytes
        if (moreBytes > MORE_BYTES) throw new Error(`${Math.round(moreBytes / 2 ** 20)} MiB more than at the start`)
      },
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    }
  },
}

async function joined(api: ApiClient, url: string, resourceGroup: string): Promise<ScriptedAgent> {
  await api.createResourceGroup({ body: { name: resourceGroup } }).catch((error: unknown) => {
    if (!isAppError(error) || error.code !== 'resource_group_exists') throw error
  })
  const { join } = await api.createJoinToken({ body: { resourceGroup } })
  const agent = new ScriptedAgent({ url, join, name: resourceGroup, heartbeatMs: 1_000 })
  await agent.connect()
  await until('the agent is connected', async () => {
    const found = (await api.listAgents()).items.find(({ id }) => id === agent.id)
    return found?.status === 'CONNECTED' && found.capacity.cpu !== undefined
  })
  return agent
}

/** The visible state of the agent and its session, without times that change. */
async function viewOf(api: ApiClient, agentId: AgentId, id: SessionId) {
  const agent = (await api.listAgents()).items.find(item => item.id === agentId)
  const session = await api.getSession({ params: { id } })
  const { lastSeenAt: _, ...rest } = agent ?? ({} as Partial<AgentView>)
  const { name, status, result, reason, reachable, apps, kernels } = session
  return { agent: rest, session: { name, status, result, reason, reachable, apps, kernels } }
}

/** Meanwhile answers requests of the manager with random data. */
function answerWildly(agent: ScriptedAgent, random: Random, known: Known): void {
  const shaping = shapingOf(random, known)
  for (const [name, schema] of Object.entries(REPLIES)) {
    const answer = () => {
      if (random.chance(0.3)) throw new ScriptedError(random.pick(CODES), random.text())
      return valueOf(random, schema, shaping, 8) as never
    }
    Object.assign(agent.script, { [name]: answer })
  }
}

async function say(agent: ScriptedAgent, random: Random, known: Known): Promise<void> {
  for (let frames = 1 + random.int(5); frames > 0; frames--) agent.sendText(frameOf(random, FROM_AGENT, known))
  if (await within('what an agent says', agent.heard())) return
  // The manager has hung up, as it may.
  await within('a new connection', agent.connect())
}

/** A peer that nobody has accepted yet. */
async function shakeHands(url: string, random: Random, known: Known): Promise<void> {
  const socket = new WebSocket(url.replace('http', 'ws') + CONTROL_PATH, CONTROL_PROTOCOL)
  socket.on('error', () => undefined)
  const over = once(socket, 'close')
  await within('the opening of a control connection', Promise.race([once(socket, 'open'), over]))
  if (socket.readyState === WebSocket.OPEN) {
    for (let frames = random.int(3); frames > 0; frames--) socket.send(frameOf(random, FROM_AGENT, known))
    await new Promise(resolve => setTimeout(resolve, random.int(20)))
  }
  socket.terminate()
  await within('the end of a control connection', over)
}

/** An administrator's request that makes the manager ask the agent. */
async function askedByAdmin(api: ApiClient, id: AgentId): Promise<void> {
  await within('list_kernels', api.listUnknownContainers({ params: { id } })).catch(unlessForeseen)
}

async function launched(api: ApiClient, random: Random, known: { ids: string[] }): Promise<void> {
  const body = { image: 'berth/python:3.13', resourceGroup: 'wild', resources: { cpu: '0.5', mem: '256m' } }
  const created = await within('a launch', api.createSession({ body })).catch(unlessForeseen)
  for (const { id, kernels } of created?.items ?? []) {
    known.ids.push(id, ...kernels.map(kernel => kernel.id))
    if (random.chance(0.8)) await within('an end', api.deleteSession({ params: { id } })).catch(unlessForeseen)
  }
}

function unlessForeseen(error: unknown): undefined {
  if (!isAppError(error) || error.code === 'internal') throw error
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`not in 20 s: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
