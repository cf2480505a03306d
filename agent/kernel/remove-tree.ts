import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Removes what the user of a session has filled. By `rm`, which walks by descriptors: `fs.rm` fails of a path that is longer than the
 * system takes, and everybody can make one with `mkdir` and `cd`. No-op if it is not there.
 */
export async function removeTree(path: string, signal?: AbortSignal): Promise<void> {
  const remove = () => run('rm', ['-rf', '--', path], signal)
  if ((await remove()) === 0) return
  // To an agent that is not root folders are closed that their owner may not write; a module cache of Go has nothing else.
  await run('chmod', ['-R', 'u+rwX', '--', path], signal)
  const code = await remove()
  if (code !== 0) throw new Error(`${path} could not be removed: rm ended with ${code ?? 'a signal'}`)
}

async function run(program: string, args: readonly string[], signal: AbortSignal | undefined): Promise<number | null> {
  const [code] = (await once(spawn(program, args, { stdio: 'ignore', signal }), 'exit')) as [number | null]
  return code
}
