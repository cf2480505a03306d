import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Removes a tree that sessions have filled. Uses `rm`, which walks by descriptors and follows no link: `fs.rm` fails on a
 * path that is longer than the system allows, and a session can make one with `mkdir` and `cd`. No-op if there is none.
 *
 * @throws Error if files are left
 */
export async function removeTree(path: string, options: RemovalOptions = {}): Promise<void> {
  const place = options.within === undefined ? path : `/proc/self/fd/3/${path}`
  const remove = () => run('rm', ['-rf', '--', place], options)
  if ((await remove()) === 0) return
  // A manager that is not root cannot enter directories that their owner may not write to, as in a Go module cache. Root can, and would
  // change files of the host: `chmod -R` follows a link that a session exchanges for a file at that moment.
  if (process.getuid?.() !== 0) await run('chmod', ['-R', 'u+rwX', '--', place], options)
  const code = await remove()
  if (code !== 0) throw new Error(`${path} could not be removed: rm ended with ${code ?? 'a signal'}`)
}

export interface RemovalOptions {
  readonly signal?: AbortSignal
  /** Open directory that a relative path starts from. As the working directory of a program it would block this process until it answers. */
  readonly within?: number
}

async function run(
  program: string,
  args: readonly string[],
  { signal, within }: RemovalOptions,
): Promise<number | null> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'ignore', ...(within === undefined ? [] : [within])],
    ...(signal ? { signal } : {}),
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code
}
