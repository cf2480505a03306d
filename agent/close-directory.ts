import { chmod, stat } from 'node:fs/promises'

/**
 * Takes a directory of the agent from all other users but root. Sessions own files below such directories, and can make set-user-id
 * programs there: whoever reached one by its path would become the user of all sessions.
 *
 * A directory that belongs to somebody else keeps its mode; `berth doctor` looks whether others pass through it.
 *
 * @throws the error of the file system, e.g. ENOENT
 */
export async function closeDirectory(path: string): Promise<void> {
  const { mode, uid } = await stat(path)
  const me = process.getuid?.()
  if ((mode & 0o077) !== 0 && (me === 0 || me === uid)) await chmod(path, 0o700)
}
