import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Removes a tree that a session's user has filled. Uses `rm`, which walks by descriptors: `fs.rm` fails on a path longer than
 * the system allows, and any user can make one with `mkdir` and `cd`. No-op if the path does not exist.
 */
export async function removeTree(path: string, signal?: AbortSignal): Promise<void> {
  const remove = () => run('rm', ['-rf', '--', path], signal)
  if ((await remove()) === 0) return
  // A non-root agent cannot enter folders that their owner may not write to; a Go module cache consists of them. Root can, and would
  // change files of the host: `chmod -R` follows a link that is exchanged for a file at that moment.
  if (process.getuid?.() !== 0) await run('chmod', ['-R', 'u+rwX', '--', path], signal)
  const code = await remove()
  if (code !== 0) throw new Error(`${path} could not be removed: rm ended with ${code ?? 'a signal'}`)
}

async function run(program: string, args: readonly string[], signal: AbortSignal | undefined): Promise<number | null> {
  const [code] = (await once(spawn(program, args, { stdio: 'ignore', signal }), 'exit')) as [number | null]
  return code
}
