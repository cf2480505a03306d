import { lstat, opendir } from 'node:fs/promises'
import { inOneForm, otherForms } from '#base/normal-forms'
import { below, folderName, type LocalPath, NAMES_ARE_BYTES, shownPath } from './local-path.ts'

export interface LocalEntry {
  /** A directory is listed only if none of its entries is: sending a file creates its directories. */
  readonly kind: 'file' | 'directory'
  /** Where it is on this computer. */
  readonly local: LocalPath
  /** Parts of its path below the top of the tree; none for the top itself. */
  readonly parts: readonly string[]
}

/** Names are read as bytes where they are bytes. */
function openLocalDirectory(directory: LocalPath) {
  // The types of Node know no directory whose names are bytes.
  const encoding = (NAMES_ARE_BYTES ? 'buffer' : 'utf8') as 'utf8'
  return opendir(directory, { bufferSize: READ_AHEAD, encoding })
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

  async function* walk(directory: LocalPath, parts: readonly string[]): AsyncGenerator<LocalEntry> {
    let isEmpty = true
    const forms = new Set<string>()
    for await (const entry of await openLocalDirectory(directory)) {
      const name = folderName(Buffer.from(entry.name))
      const local = below(directory, name)
      if (otherForms(name).length > 0) {
        const form = inOneForm(name)
        // The folder has one name for both: one file would replace the other.
        if (forms.has(form)) {
          onSkipped(shownPath(local), 'twin')
          continue
        }
        forms.add(form)
      }
      const inTree = [...parts, name]
      // Some file systems do not tell the kind with the name.
      const kind = entry.isFile() || entry.isDirectory() || entry.isSymbolicLink() ? entry : await lstat(local)
      if (kind.isDirectory()) yield* walk(local, inTree)
      else if (kind.isFile()) yield { kind: 'file', local, parts: inTree }
      else {
        onSkipped(shownPath(local), 'kind')
        continue
      }
      isEmpty = false
    }
    if (isEmpty) yield { kind: 'directory', local: directory, parts }
  }
}
