import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Removes a tree that sessions have filled. Uses `rm`, which walks by descriptors and follows no link: `fs.rm` fails on a
 * path that is longer than the system allows, and a session can make one with `mkdir` and `cd`. No-op if there is none.
 *
 * @throws Error if files are left
 */
export async function removeTree(path: string, options: RemovalOptions = {}): Promise<void> {
  const remove = () => run('rm', ['-rf', '--', path], options)
  if ((await remove()) === 0) return
  // A manager that is not root cannot enter directories that their owner may not write to, as in a Go module cache.
  await run('chmod', ['-R', 'u+rwX', '--', path], options)
  const code = await remove()
  if (code !== 0) throw new Error(`${path} could not be removed: rm ended with ${code ?? 'a signal'}`)
}

export interface RemovalOptions {
  readonly signal?: AbortSignal
  /** Directory that a relative path starts from, e.g. `/proc/self/fd/N`; the child has the same descriptors until it starts. */
  readonly cwd?: string
}

async function run(program: string, args: readonly string[], options: RemovalOptions): Promise<number | null> {
  const [code] = (await once(spawn(program, args, { stdio: 'ignore', ...options }), 'exit')) as [number | null]
  return code
}
