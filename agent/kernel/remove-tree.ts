import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Removes what the user of a session has filled. By `rm`, which walks by descriptors: `fs.rm` fails of a path that is longer than the
 * system takes, and everybody can make one with `mkdir` and `cd`. No-op if it is not there.
 */
export async function removeTree(path: string, signal?: AbortSignal): Promise<void> {
  const [code] = (await once(spawn('rm', ['-rf', '--', path], { stdio: 'ignore', signal }), 'exit')) as [number | null]
  if (code !== 0) throw new Error(`${path} could not be removed: rm ended with ${code ?? 'a signal'}`)
}
