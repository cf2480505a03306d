import { joinPath } from '../../../data/files/file-path.ts'
import { type Entry } from '../../../data/files/files-client.ts'

/**
 * Path of the directory that an entry opens: for a link, the directory that it leads to, so that actions there use real paths.
 *
 * @param path of the directory that has the entry
 * @returns undefined for an entry that opens no directory
 */
export function directoryOf(
  { name, kind, target }: Pick<Entry, 'name' | 'kind' | 'target'>,
  path: string,
): string | undefined {
  if (kind === 'directory') return joinPath(path, name)
  return kind === 'link' && target?.kind === 'directory' ? target.path : undefined
}
