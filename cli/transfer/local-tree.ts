import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'

export interface LocalFile {
  /** Where it is on this computer. */
  readonly local: string
  /** Parts of its path below the top of the tree. */
  readonly parts: readonly string[]
}

/**
 * All regular files of a tree. Links, pipes and devices are left out and reported: a link may lead anywhere.
 *
 * @param onSkipped path of what was left out
 */
export async function* walkLocalTree(top: string, onSkipped: (path: string) => void): AsyncGenerator<LocalFile> {
  yield* walk(top, [])

  async function* walk(directory: string, parts: readonly string[]): AsyncGenerator<LocalFile> {
    for await (const entry of await opendir(directory)) {
      const local = join(directory, entry.name)
      const below = [...parts, entry.name]
      // Some file systems do not tell the kind with the name.
      const kind = entry.isFile() || entry.isDirectory() || entry.isSymbolicLink() ? entry : await lstat(local)
      if (kind.isDirectory()) yield* walk(local, below)
      else if (kind.isFile()) yield { local, parts: below }
      else onSkipped(local)
    }
  }
}
