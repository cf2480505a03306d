import { defined } from '#base/defined'
import { inOneForm } from '#base/normal-forms'
import { type FileSearchQuery, type FilesFound } from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { followingLinks } from '../storage/real-path.ts'
import { targetOf } from './link-targets.ts'
import { joinPath, toEntry } from './places.ts'
import { passOver, walk } from './walk.ts'

const MOST_VISITED = 1_000_000
const SEARCH_MS = 10_000

/**
 * Searches the names below a directory. Ends early after ten seconds, a million entries, or enough hits. Entries that lie too deep are
 * skipped, and the result is then marked as incomplete.
 */
export async function searchNames(
  top: Directory,
  { path, text, limit }: FileSearchQuery,
  signal: AbortSignal,
): Promise<FilesFound> {
  const wanted = comparable(text)
  const items: FilesFound['items'] = []
  const deadline = performance.now() + SEARCH_MS
  let visited = 0
  let complete = true
  const onTooDeep = () => {
    complete = false
  }
  await using directory = await followingLinks(top, path, at => top.walk(at))
  for await (const found of walk(directory, signal, onTooDeep)) {
    visited++
    if (comparable(found.name).includes(wanted)) {
      if (items.length >= limit) return { items, complete: false }
      const state = await found.directory.lstat(found.name).catch(passOver)
      if (!state) continue
      const at = joinPath(path, found.path)
      const target = state.kind === 'link' ? await targetOf(top, at) : undefined
      items.push({ ...toEntry(found.name, state), ...defined({ target }), path: at })
    }
    if (visited >= MOST_VISITED || (visited % 256 === 0 && performance.now() > deadline))
      return { items, complete: false }
  }
  return { items, complete }
}

const comparable = (text: string) => inOneForm(text).toLowerCase()
