import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { HEARTBEAT_MS } from '#agent/contract'
import { type ApiClient } from '#manager/contract'
import { startTestManager } from '../fixtures/manager.ts'
import { gpus, ScriptedAgent } from '../fixtures/scripted-agent.ts'
import { median, quantile, round } from './statistics.ts'

const AGENTS = 1_000
/** Number of agents that join concurrently; every join is a transaction and a signature. */
const AT_ONCE = 50
/** Interval between two requests for the list; long, because the answer covers all agents. */
const POLL_MS = 500

/**
 * A thousand agents (without engines; their side also runs in this process) lose the manager at the same moment and return at the same
 * moment: time until each is ready for work again, and the effect on a user meanwhile.
 */
export async function benchAgents(stack: AsyncDisposableStack) {
  const manager = stack.use(await startTestManager())
  const { api } = await manager.signIn()
  const agents: ScriptedAgent[] = []
  stack.defer(async () => {
    await Promise.all(agents.map(agent => agent[Symbol.asyncDispose]()))
  })
  const joinStart = performance.now()
  while (agents.length < AGENTS) agents.push(...(await joinSome(manager.url, api, agents.length)))
  await untilConnected(api, AGENTS)
  const joinSeconds = (performance.now() - joinStart) / 1000
  const memoryMB = round(process.memoryUsage().rss / 2 ** 20, 0)

  await Promise.all(agents.map(agent => agent.disconnect()))
  await untilConnected(api, 0)
  const delay = monitorEventLoopDelay({ resolution: 5 })
  const latencies: number[] = []
  const back = { yet: false }
  delay.enable()
  const start = performance.now()
  const asking = askAllAlong(api, latencies, back)
  const connects: number[] = []
  await Promise.all(
    agents.map(async agent => {
      await agent.connect()
      connects.push(performance.now() - start)
    }),
  )
  await untilConnected(api, AGENTS)
  const seconds = (performance.now() - start) / 1000
  delay.disable()
  back.yet = true
  await asking
  return {
    agents: {
      count: AGENTS,
      joinPerSecond: round(AGENTS / joinSeconds, 0),
      reconnectSeconds: round(seconds, 2),
      reconnectPerSecond: round(AGENTS / seconds, 0),
      acceptedP50Ms: round(median(connects), 0),
      acceptedP99Ms: round(quantile(connects, 0.99), 0),
      apiP50MsMeanwhile: round(median(latencies), 1),
      apiMaxMsMeanwhile: round(Math.max(...latencies), 0),
      eventLoopMaxMs: round(delay.max / 1e6, 0),
      memoryMB,
    },
  }
}

async function joinSome(url: string, api: ApiClient, first: number): Promise<ScriptedAgent[]> {
  return Promise.all(
    Array.from({ length: AT_ONCE }, async (_, index) => {
      const { join } = await api.createJoinToken({ body: {} })
      const devices = gpus(8).map(device => ({ ...device, uuid: `${device.uuid}-${first + index}` }))
      const capacity = { cpu: 64_000, mem: 2 ** 39, 'cuda.device': 8 }
      const name = `agent-${first + index}`
      return new ScriptedAgent({ url, join, name, capacity, devices, heartbeatMs: HEARTBEAT_MS }).connect()
    }),
  )
}

/** Number of agents that are connected and reconciled: the scheduler can use them. */
async function untilConnected(api: ApiClient, count: number): Promise<void> {
  for (;;) {
    const { agents, capacity } = await api.getResources()
    const ready = Number(capacity.cpu ?? 0) / 64
    if (agents.connected === count && ready === count) return
    await wait(POLL_MS)
  }
}

async function askAllAlong(api: ApiClient, latencies: number[], back: { readonly yet: boolean }): Promise<void> {
  while (!back.yet) {
    const start = performance.now()
    await api.listSessions({ query: { limit: 20 } })
    latencies.push(performance.now() - start)
    await wait(20)
  }
}
