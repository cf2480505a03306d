import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Removes a tree that sessions have written to. Uses `rm`, which walks by descriptors and follows no link: `fs.rm` fails on a path that is
 * longer than the system allows, and a session can create one with `mkdir` and `cd`. Does nothing if the tree does not exist.
 *
 * @throws Error if files are left
 */
export async function removeTree(path: string, options: RemovalOptions = {}): Promise<void> {
  const place = options.within === undefined ? path : `/proc/self/fd/3/${path}`
  const remove = () => run('rm', ['-rf', '--', place], options)
  if ((await remove()) === 0) return
  // A manager that is not root cannot delete from directories without write permission, as in a Go module cache. Root can; and `chmod -R`
  // as root could change files of the host, because it follows a link that a session swaps in at that moment.
  if (process.getuid?.() !== 0) await run('chmod', ['-R', 'u+rwX', '--', place], options)
  const code = await remove()
  if (code !== 0) throw new Error(`${path} could not be removed: rm ended with ${code ?? 'a signal'}`)
}

export interface RemovalOptions {
  readonly signal?: AbortSignal
  /**
   * Open directory from which a relative path starts. If it were the working directory of the program, starting the program would block
   * this process until the file system answers.
   */
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
