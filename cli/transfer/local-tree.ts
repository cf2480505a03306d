import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { inOneForm, otherForms } from '#base/normal-forms'

export interface LocalEntry {
  /** A directory is told only if nothing in it is: files make their directories. */
  readonly kind: 'file' | 'directory'
  /** Where it is on this computer. */
  readonly local: string
  /** Parts of its path below the top of the tree; none for the top itself. */
  readonly parts: readonly string[]
}

/** Names that are read from a directory with one call. */
const READ_AHEAD = 512

/**
 * All regular files of a tree, and its empty directories. Links, pipes and devices are left out and reported: a link may lead
 * anywhere.
 *
 * @param onSkipped path of what was left out, and why: its kind, or a name that differs from one before it only in its Unicode form
 */
export async function* walkLocalTree(
  top: string,
  onSkipped: (path: string, why: 'kind' | 'twin') => void,
): AsyncGenerator<LocalEntry> {
  yield* walk(top, [])

  async function* walk(directory: string, parts: readonly string[]): AsyncGenerator<LocalEntry> {
    let isEmpty = true
    const forms = new Set<string>()
    for await (const entry of await opendir(directory, { bufferSize: READ_AHEAD })) {
      const local = join(directory, entry.name)
      if (otherForms(entry.name).length > 0) {
        const form = inOneForm(entry.name)
        // The folder has one name for both: one file would replace the other.
        if (forms.has(form)) {
          onSkipped(local, 'twin')
          continue
        }
        forms.add(form)
      }
      const below = [...parts, entry.name]
      // Some file systems do not tell the kind with the name.
      const kind = entry.isFile() || entry.isDirectory() || entry.isSymbolicLink() ? entry : await lstat(local)
      if (kind.isDirectory()) yield* walk(local, below)
      else if (kind.isFile()) yield { kind: 'file', local, parts: below }
      else {
        onSkipped(local, 'kind')
        continue
      }
      isEmpty = false
    }
    if (isEmpty) yield { kind: 'directory', local: directory, parts }
  }
}
