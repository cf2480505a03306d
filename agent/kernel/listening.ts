import { readFile } from 'node:fs/promises'
import { TOOLBOX } from '../docker/container-config.ts'
import { type EngineClient } from '../docker/engine-client.ts'
import { runInside } from '../docker/run-inside.ts'
import { type RunningKernel } from '../running-kernel.ts'

/** State TCP_LISTEN in the kernel's tables. @see Linux Documentation/networking/proc_net_tcp.rst */
const LISTEN = '0A'

/** @param table of /proc/PID/net/tcp or tcp6 */
export function listeningPorts(table: string): Set<number> {
  const ports = new Set<number>()
  for (const line of table.split('\n').slice(1)) {
    const [, local, , state] = line.trim().split(/\s+/)
    const port = local?.split(':')[1]
    if (state === LISTEN && port !== undefined) ports.add(Number.parseInt(port, 16))
  }
  return ports
}

/**
 * Whether anything in the container listens on the port, on any address. Reads the kernel's table: no connection is made, so a
 * server that serves a single client is not disturbed.
 */
export async function isListening(engine: EngineClient, kernel: RunningKernel, port: number): Promise<boolean> {
  const tables = (await readTables(kernel)) ?? (await readTablesInside(engine, kernel))
  return tables.some(table => listeningPorts(table).has(port))
}

/** The fast way, if the engine's processes run on this machine. */
async function readTables({ pid, containerId }: RunningKernel): Promise<string[] | undefined> {
  if (pid === 0) return undefined
  try {
    const cgroup = await readFile(`/proc/${pid}/cgroup`, 'utf8')
    if (!cgroup.includes(containerId)) return undefined
    return await Promise.all(['tcp', 'tcp6'].map(name => readFile(`/proc/${pid}/net/${name}`, 'utf8').catch(() => '')))
  } catch {
    return undefined
  }
}

async function readTablesInside(engine: EngineClient, kernel: RunningKernel): Promise<string[]> {
  const command = [`${TOOLBOX}/bin/busybox`, 'cat', '/proc/net/tcp', '/proc/net/tcp6']
  const { output } = await runInside(engine, kernel, { command })
  return [output]
}
