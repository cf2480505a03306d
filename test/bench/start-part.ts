import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** Starts a script of this folder as a process of its own, which ends with the channel to it. @returns once it has told its port */
export async function startPart(
  stack: AsyncDisposableStack,
  script: string,
  args: readonly (string | number)[],
): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(new URL(script, import.meta.url), args.map(String), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  stack.defer(() => {
    if (child.connected) child.disconnect()
  })
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`${script} ended`)))
  const [{ port }] = (await Promise.race([once(child, 'message'), ended])) as [{ port: number }]
  ended.catch(() => undefined)
  return { child, port }
}
