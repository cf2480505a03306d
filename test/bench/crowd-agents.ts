/**
 * A hundred agents without engines in one process: control connection, parked data sockets and the agent's end of each tunnel
 * are real; containers are simulated, and their app is a service on this machine. Figures of every container once a
 * second, as a real agent sends them. `node crowd-agents.ts MANAGER_URL SERVICE_PORT SESSIONS_PER_AGENT JOIN…`
 */
import { createDataSockets } from '../../agent/tunnel/data-sockets.ts'
import { HEARTBEAT_MS } from '#agent/contract'
import { STILL } from '../fixtures/pulse.ts'
import { gpus, ScriptedAgent } from '../fixtures/scripted-agent.ts'
import { APP, CROWD_IMAGE } from './crowd-image.ts'
import { log, streamsTo } from './made-up-container.ts'

const [url = '', servicePort = '', perAgent = '', ...joins] = process.argv.slice(2)
// Also while agents join: a bench that is stopped then leaves nothing behind.
process.on('disconnect', () => process.exit(0))
const streams = streamsTo(APP, Number(servicePort))
const agents = await Promise.all(
  joins.map(async (join, index) => {
    const capacity = { cpu: 1000 * Number(perAgent), mem: 2 ** 30 * Number(perAgent), 'cuda.device': 8 }
    const devices = gpus(8).map(device => ({ ...device, uuid: `${device.uuid}-${index}` }))
    const agent = new ScriptedAgent({
      url,
      join,
      name: `agent-${index}`,
      capacity,
      devices,
      images: [CROWD_IMAGE],
      heartbeatMs: HEARTBEAT_MS,
    })
    await agent.connect()
    createDataSockets({
      managerUrl: url,
      dataToken: agent.dataToken ?? '',
      count: 4,
      serve: streams.serve,
      log,
    })
    return agent
  }),
)

let beat = 0
let everyMs = 1_000
function tellFigures(): void {
  beat++
  // Spread the reports: hosts do not measure in the same instant.
  agents.forEach((agent, index) => setTimeout(() => tell(agent), (index * everyMs) / agents.length))
  setTimeout(tellFigures, everyMs)
}
function tell(agent: ScriptedAgent): void {
  const stats = {
    ...STILL,
    at: new Date().toISOString(),
    cpuMilli: 10 + (beat % 90),
    cpuSeconds: beat,
    netRxBytes: beat * 1000,
  }
  const kernels = [...agent.containers.keys()].map(kernelId => ({ kernelId, stats }))
  if (kernels.length > 0) agent.send({ type: 'stats', kernels })
}
tellFigures()
process.on('message', (ms: number) => (everyMs = ms))
process.send?.({ port: 0 })
