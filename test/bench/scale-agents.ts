/**
 * Agents without engines in one process: each is connected to every manager, as real ones are, and its containers are simulated. Figures
 * of every container once a second. `node scale-agents.ts SERVICE_PORT HOME_DIRECTORY BLOCKED_PORTS JOIN…`; ports of managers that
 * these agents cannot dial, separated by commas
 */
import { Socket } from 'node:net'
import { join as pathOf } from 'node:path'
import { HEARTBEAT_MS } from '#agent/contract'
import { startMeshAgent, scriptedEngine, type MeshAgent } from '../fixtures/mesh-agent.ts'
import { STILL } from '../fixtures/pulse.ts'
import { gpus } from '../fixtures/scripted-agent.ts'
import { APP, CROWD_IMAGE } from './crowd-image.ts'
import { streamsTo } from './made-up-container.ts'

const [servicePort = '', home = '', blocked = '', ...joins] = process.argv.slice(2)
// Also while agents join: a bench that is stopped then leaves nothing behind.
process.on('disconnect', () => process.exit(0))
const AT_ONCE = 25
const FIGURES_MS = 1_000
const streams = streamsTo(APP, Number(servicePort))
if (blocked !== '') block(new Set(blocked.split(',').map(Number)))

const agents: MeshAgent[] = []
for (let from = 0; from < joins.length; from += AT_ONCE)
  agents.push(...(await Promise.all(joins.slice(from, from + AT_ONCE).map(start))))

function start(join: string): Promise<MeshAgent> {
  // The id that the manager has given to the agent is in the join string; names only have to differ.
  const name = `host-${process.pid}-${joins.indexOf(join)}`
  const engine = scriptedEngine({
    name,
    capacity: { cpu: 64_000, mem: 2 ** 39, 'cuda.device': 8 },
    devices: gpus(8).map(device => ({ ...device, uuid: `${name}-${device.uuid}` })),
    images: [CROWD_IMAGE],
    heartbeatMs: HEARTBEAT_MS,
  })
  return startMeshAgent({ home: pathOf(home, name), engine, join, serve: streams.serve, isRemote: true })
}

/** A firewall between this process and some managers, without touching that of the machine. */
function block(ports: ReadonlySet<number>): void {
  const connect = Socket.prototype.connect as (this: Socket, ...args: unknown[]) => Socket
  Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
    const [to] = args.flat() as [unknown]
    const wanted = typeof to === 'object' && to !== null ? (to as { port?: unknown }).port : to
    if (!ports.has(Number(wanted))) return connect.apply(this, args)
    process.nextTick(() => this.destroy(new Error('a firewall is in the way')))
    return this
  }
}

let beat = 0
setInterval(() => {
  beat++
  // Spread the reports: hosts do not measure in the same instant.
  agents.forEach((agent, index) => setTimeout(() => tell(agent), (index * FIGURES_MS) / agents.length))
}, FIGURES_MS)

function tell(agent: MeshAgent): void {
  const stats = { ...STILL, at: new Date().toISOString(), cpuMilli: 10 + (beat % 90), cpuSeconds: beat }
  const kernels = [...agent.engine.containers.keys()].map(kernelId => ({ kernelId, stats }))
  if (kernels.length > 0) agent.stats(kernels)
}
process.send?.({ port: 0 })
