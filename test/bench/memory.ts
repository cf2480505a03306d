import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { startBerth } from '../fixtures/berth.ts'
import { round } from './statistics.ts'

const SETTLE_MS = 10_000

/** Resident memory of the idle servers of a fresh `berth up`. Growth per tunnel is measured by the tunnel part. */
export async function benchMemory() {
  await using berth = await startBerth()
  await wait(SETTLE_MS)
  const { manager, agent, console } = await berth.servers()
  const [managerMB, agentMB, proxyMB] = await Promise.all([manager, agent, console].map(residentMB))
  return { memory: { managerMB, agentMB, proxyMB } }
}

async function residentMB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const kib = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1])
  return round(kib / 1024, 1)
}
