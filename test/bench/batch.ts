import { setTimeout as wait } from 'node:timers/promises'
import { startTestManager } from '../fixtures/manager.ts'
import { ScriptedAgent } from '../fixtures/scripted-agent.ts'
import { quantile, round } from './statistics.ts'

const JOBS = 60
const ENDS_AFTER_MS = 5

/** From the end of a short job's container to the end of its session, with scripted agents; one after the other. */
export async function benchBatch(stack: AsyncDisposableStack) {
  const manager = stack.use(await startTestManager())
  const { api } = await manager.signIn()
  const { join } = await manager.manager.createJoinToken()
  const agent = stack.use(new ScriptedAgent({ url: manager.url, join, heartbeatMs: 3_000 }))
  await agent.connect()
  while (Number((await api.getResources({})).largest.cpu) === 0) await wait(50)
  const endedAt = new Map<string, number>()
  agent.script.create_kernel = ({ spec }) => {
    const reply = agent.run(spec)
    setTimeout(() => {
      endedAt.set(spec.sessionId, performance.now())
      const end = { exitCode: 0, oomKilled: false, engineRestarted: false }
      agent.change(spec.kernelId, { state: 'exited', containerId: reply.containerId, ...end })
    }, ENDS_AFTER_MS)
    return reply
  }
  const took: number[] = []
  for (let i = 0; i < JOBS; i++) {
    const job = { kind: 'batch', startupCommand: 'true', resources: { cpu: '0.5', mem: '256m' } } as const
    const [session] = (await api.createSession({ body: { image: 'berth/python:3.13', ...job } })).items
    if (!session) throw new Error('no session')
    const params = { id: session.id }
    while ((await api.getSession({ params })).endedAt === null) await wait(2)
    took.push(performance.now() - (endedAt.get(session.id) ?? NaN))
  }
  return { batch: { endMsP50: round(quantile(took, 0.5), 0), endMsP95: round(quantile(took, 0.95), 0), jobs: JOBS } }
}
