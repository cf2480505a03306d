import { type Directory } from '../storage/beneath.ts'

/**
 * Counts these paths and their parent directories that do not exist yet: the number of entries that placing the files will create. A path
 * that cannot be looked up counts as missing; placing its file will report the error.
 */
export async function countMissing(top: Directory, paths: readonly string[]): Promise<number> {
  const names = new Map<string, Set<string>>()
  for (const path of paths) {
    const parts = path.split('/')
    for (const [depth, name] of parts.entries()) {
      const parent = parts.slice(0, depth).join('/')
      const there = names.get(parent)
      if (there) there.add(name)
      else names.set(parent, new Set([name]))
    }
  }
  let missing = 0
  for (const [parent, children] of names) missing += await countMissingIn(top, parent, children)
  return missing
}

async function countMissingIn(top: Directory, path: string, names: ReadonlySet<string>): Promise<number> {
  try {
    await using parent = await top.walk(path)
    let missing = 0
    for (const name of names) {
      await parent.lstat(name).catch(() => {
        missing++
      })
    }
    return missing
  } catch {
    return names.size
  }
}
