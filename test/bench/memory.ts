import { setTimeout as wait } from 'node:timers/promises'
import { TCP_APP } from './image.ts'
import { residentMemory, type Server } from './servers.ts'
import { startBenchSession } from './session.ts'
import { round } from './statistics.ts'
import { openIdle } from './tunnel-load.ts'

const SETTLE_MS = 10_000
const TUNNELS = 1_000
/** Tunnels opened in advance, so that code is loaded and buffers are allocated. */
const WARM_UP = 50
const MB = 2 ** 20

/** Resident memory of the servers of a new `berth up` with one session, and its growth by idle tunnels. */
export async function benchMemory(stack: AsyncDisposableStack) {
  const { berth, openTunnel } = await startBenchSession(stack)
  await wait(SETTLE_MS)
  const idle = await residentMemory(berth, 'all')
  const { port } = await openTunnel(TCP_APP.name)
  const sockets = await openIdle(port, WARM_UP)
  stack.defer(() => {
    for (const socket of sockets) socket.destroy()
  })
  const before = await residentMemory(berth, 'anonymous', true)
  sockets.push(...(await openIdle(port, TUNNELS)))
  const after = await residentMemory(berth, 'anonymous', true)
  const loaded = await residentMemory(berth, 'all')
  const growthKB = (name: Server) => round((after[name] - before[name]) / TUNNELS / 1024, 1)
  return {
    memory: {
      managerMB: round(idle.manager / MB, 1),
      agentMB: round(idle.agent / MB, 1),
      proxyMB: round(idle.proxy / MB, 1),
      idleTunnels: TUNNELS,
      idleTunnelKB: round(growthKB('proxy') + growthKB('manager') + growthKB('agent'), 1),
      perProcessKB: { proxy: growthKB('proxy'), manager: growthKB('manager'), agent: growthKB('agent') },
      withIdleTunnelsMB: {
        manager: round(loaded.manager / MB, 1),
        agent: round(loaded.agent / MB, 1),
        proxy: round(loaded.proxy / MB, 1),
      },
    },
  }
}
