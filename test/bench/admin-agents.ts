/**
 * A thousand agents without engines in a process of their own, with eight GPUs and a dozen images each, for the pages of
 * administration. They join, leave, and come back with the containers of the sessions that were written meanwhile.
 * `node admin-agents.ts MANAGER_URL TOKEN AGENTS IMAGES`
 */
import { HEARTBEAT_MS, type KernelLabel } from '#agent/contract'
import { apiOf } from '../fixtures/manager.ts'
import { gpus, PYTHON, ScriptedAgent } from '../fixtures/scripted-agent.ts'
import { type RunningKernel } from './admin-seed.ts'

const AT_ONCE = 50
const IMAGES_EACH = 12
const [url = '', token = '', count = '', imageCount = ''] = process.argv.slice(2)
// Also while agents join: a bench that is stopped then leaves nothing behind.
process.on('disconnect', () => process.exit(0))
const api = apiOf(url, token)
const images = Array.from({ length: Number(imageCount) }, (_, n) => ({
  ...PYTHON,
  references: [`lab/image-${n}:1`],
  id: `sha256:${n.toString(16).padStart(64, '0')}`,
  title: `Image ${n}`,
}))

async function join(index: number): Promise<ScriptedAgent> {
  const { join: token } = await api.createJoinToken({ body: {} })
  const agent = new ScriptedAgent({
    url,
    join: token,
    name: `host-${index}`,
    capacity: { cpu: 64_000, mem: 2 ** 39, 'cuda.device': 8 },
    devices: gpus(8).map(device => ({ ...device, uuid: `GPU-${index}-${device.uuid}` })),
    images: Array.from({ length: IMAGES_EACH }, (_, n) => images[(index * IMAGES_EACH + n) % images.length] ?? PYTHON),
    heartbeatMs: HEARTBEAT_MS,
  })
  return await agent.connect()
}

const agents: ScriptedAgent[] = []
while (agents.length < Number(count)) {
  agents.push(...(await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => join(agents.length + n)))))
}
await Promise.all(agents.map(agent => agent.disconnect()))

process.on('message', (kernels: readonly RunningKernel[]) => void comeBack(kernels))
process.send?.('joined')

async function comeBack(kernels: readonly RunningKernel[]): Promise<void> {
  const byId = new Map(agents.map(agent => [agent.id, agent]))
  const startedAt = new Date().toISOString()
  for (const { kernelId, sessionId, agentId } of kernels) {
    const state = { state: 'running', containerId: `container-${kernelId}`, startedAt } as const
    // The manager knows the kernel, so it reads nothing else from the label.
    byId.get(agentId)?.containers.set(kernelId, { attempt: 0, state, label: { sessionId } as KernelLabel })
  }
  for (let from = 0; from < agents.length; from += AT_ONCE)
    await Promise.all(agents.slice(from, from + AT_ONCE).map(agent => agent.connect()))
  process.send?.('connected')
}
