import { readFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type Berth } from '../fixtures/berth.ts'

export type Server = 'proxy' | 'manager' | 'agent'
const COLLECT_MS = 1_500

/**
 * Environment of a measured Berth. Tunnels are opened without a browser's proof that it runs here. BERTH_BENCH_NODE: further options of
 * Node, e.g. `--cpu-prof --cpu-prof-dir=/tmp/prof`.
 */
export const benchEnvironment = {
  BERTH_LOCAL_PROOF: 'off',
  NODE_OPTIONS: [
    `--import=${pathToFileURL(join(import.meta.dirname, 'collect-garbage.mjs')).href}`,
    process.env.BERTH_BENCH_NODE ?? '',
  ].join(' '),
}

/** Resident memory of the three servers in bytes; `anonymous` leaves out pages of the executable and of libraries. */
export async function residentMemory(
  berth: Berth,
  kind: 'all' | 'anonymous',
  collect = false,
): Promise<Record<Server, number>> {
  const { manager, agent, console: proxy } = await berth.servers()
  const pids = { proxy, manager, agent }
  if (collect) {
    for (const pid of Object.values(pids)) process.kill(pid, 'SIGUSR2')
    await wait(COLLECT_MS)
  }
  const sizes = Object.entries(pids).map(async ([name, pid]) => [name, await residentBytes(pid, kind)] as const)
  return Object.fromEntries(await Promise.all(sizes)) as Record<Server, number>
}

/** Resident memory of one process. */
export async function residentBytes(pid: number, kind: 'all' | 'anonymous'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const field = kind === 'all' ? /^VmRSS:\s+(\d+) kB$/m : /^RssAnon:\s+(\d+) kB$/m
  return Number(field.exec(status)?.[1]) * 1024
}
