import { AppError, because, isAppError } from '#manager/contract'
import { type Directory } from './beneath.ts'
import { componentsOf, nameOf } from './file-names.ts'

/** Most links on one path, as on Linux. @see path_resolution(7) */
const MOST_LINKS = 40
/** Most components of one path, including those of its links. */
const MOST_STEPS = 1_024

/**
 * Resolves the links on a path in a folder. A target may be anywhere in the folder; an absolute target, and a target above the top, is
 * refused, as by `RESOLVE_BENEATH` of openat2(2): a path inside a session does not exist on the storage.
 *
 * A session may change the tree before the result is used. The result is opened like any other path, by a walk that follows no link, so a
 * link that is swapped after it was read leads nowhere.
 *
 * @param path relative to the top
 * @param last whether a link at the end is followed as well
 * @returns `''` for the top; the last component may not exist
 * @throws AppError `file_not_found` (of an entry on the way), `file_kind_refused`, `path_invalid`
 */
export async function realPathOf(top: Directory, path: string, last: 'follow' | 'keep' = 'follow'): Promise<string> {
  const given = () => path.slice(path.lastIndexOf('/') + 1)
  let rest = componentsOf(path)
  let real: string[] = []
  let links = 0
  let here = await top.walk('')
  try {
    const go = async (to: Promise<Directory>, names: string[]) => {
      const next = await to
      await here[Symbol.asyncDispose]()
      here = next
      real = names
    }
    for (let steps = 0; rest.length > 0; steps++) {
      if (steps > MOST_STEPS) throw refused('link_loops', given())
      const [name = '', ...after] = rest
      rest = after
      if (name === '.') continue
      if (name === '..') {
        if (real.length === 0) throw refused('link_leaves_folder', given())
        const parent = real.slice(0, -1)
        await go(top.walk(parent.join('/')), parent)
        continue
      }
      const isLast = rest.length === 0
      const state = await here.lstat(name).catch((error: unknown) => {
        if (!isLast || !isAppError(error) || error.code !== 'file_not_found') throw error
        return undefined
      })
      if (state?.kind === 'link' && !(isLast && last === 'keep')) {
        if (++links > MOST_LINKS) throw refused('link_loops', given())
        rest = [...stepsOf(await here.readlink(name), given()), ...rest]
      } else if (isLast) return [...real, name].join('/')
      else await go(here.enter(name), [...real, name])
    }
    return real.join('/')
  } finally {
    await here[Symbol.asyncDispose]()
  }
}

/** Components of the target of a link. @throws AppError `file_kind_refused` for an absolute one */
function stepsOf(target: Buffer, link: string): string[] {
  const text = nameOf(target)
  if (text.startsWith('/')) throw refused('link_leaves_folder', link)
  return text.split('/').filter(step => step !== '')
}

/**
 * Runs work on a path and, if the path contains a link, again on the resolved path. Paths without links have no extra cost.
 *
 * @param work fails with `file_kind_refused` for a path with a link on it
 */
export async function followingLinks<T>(
  top: Directory,
  path: string,
  work: (path: string) => Promise<T>,
  last: 'follow' | 'keep' = 'follow',
): Promise<T> {
  try {
    return await work(path)
  } catch (error) {
    if (path === '' || !isAppError(error) || error.code !== 'file_kind_refused') throw error
    const real = await realPathOf(top, path, last)
    if (real === path) throw error
    return await work(real)
  }
}

function refused(cause: 'link_leaves_folder' | 'link_loops', name: string): AppError {
  return new AppError('file_kind_refused', { name, ...because(cause, { name }) })
}
