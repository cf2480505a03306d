import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Removes a tree that sessions have filled. Uses `rm`, which walks by descriptors and follows no link: `fs.rm` fails on a
 * path that is longer than the system allows, and a session can make one with `mkdir` and `cd`. No-op if there is none.
 *
 * @throws Error if files are left
 */
export async function removeTree(path: string, signal: AbortSignal): Promise<void> {
  const [code] = (await once(
    spawn('rm', ['-rf', '--one-file-system', '--', path], { stdio: 'ignore', signal }),
    'exit',
  )) as [number | null]
  if (code !== 0) throw new Error(`${path} could not be removed: rm ended with ${code ?? 'a signal'}`)
}
