import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { GRANT, SESSION } from './tunnel-names.ts'

/** A path for bytes from a local port to the service, through its own processes. */
export interface Route extends Disposable {
  readonly port: number
  /** Anonymous resident memory and JavaScript heap of all its processes, after garbage collection. */
  memory(): Promise<{ rss: number; heap: number }[]>
}

interface Process {
  readonly child: ChildProcess
  readonly port: number
}

async function start(script: string, args: readonly (string | number)[] = []): Promise<Process> {
  const child = fork(new URL(script, import.meta.url), args.map(String), {
    // BERTH_BENCH_NODE: more options of Node, e.g. `--cpu-prof --cpu-prof-dir=/tmp/prof`.
    execArgv: ['--expose-gc', ...(process.env.BERTH_BENCH_NODE?.split(' ') ?? [])],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return { child, port }
}

function routeOf(processes: readonly Process[], port: number): Route {
  return {
    port,
    memory: () =>
      Promise.all(
        processes.map(async ({ child }) => {
          child.send('memory')
          const [figures] = (await once(child, 'message')) as [{ rss: number; heap: number }]
          return figures
        }),
      ),
    [Symbol.dispose]() {
      for (const { child } of processes) child.disconnect()
    },
  }
}

export async function startService(): Promise<Route> {
  const service = await start('./tunnel-service.ts')
  return routeOf([service], service.port)
}

/**
 * Proxy, manager and agent without Docker and database: for tests of the path itself. The bench measures a whole Berth.
 *
 * @param directKey the proxy connects to the service itself (ADR 41)
 */
export async function startTunnel(servicePort: number, directKey?: string): Promise<Route> {
  const manager = await start('./tunnel-manager.ts')
  const agent = await start('./tunnel-agent.ts', [
    manager.port,
    servicePort,
    ...(directKey === undefined ? [] : [directKey]),
  ])
  const proxy = await start('./tunnel-proxy.ts', [
    `http://127.0.0.1:${manager.port}`,
    ...(directKey === undefined ? [] : [SESSION, GRANT, 'bench', directKey]),
  ])
  return routeOf([proxy, manager, agent], proxy.port)
}
