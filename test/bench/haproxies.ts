import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type Haproxy, startTcpHaproxy } from '../fixtures/haproxy.ts'

/** `count` HAProxy processes in a row that end at `host:port`; undefined on a machine without HAProxy. */
export async function startHaproxies(
  stack: AsyncDisposableStack,
  target: { readonly host: string; readonly port: number },
  count = 3,
): Promise<Haproxy | undefined> {
  const isInstalled = await promisify(execFile)('haproxy', ['-v']).then(
    () => true,
    () => false,
  )
  if (!isInstalled) {
    console.error('haproxy is not installed: there are no figures of it')
    return undefined
  }
  let last = stack.use(await startTcpHaproxy(target))
  for (let i = 1; i < count; i++) last = stack.use(await startTcpHaproxy({ host: '127.0.0.1', port: last.port }))
  return last
}
