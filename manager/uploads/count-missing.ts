import { type Directory } from '../storage/beneath.ts'

/**
 * How many of these paths, and of the directories above them, are not there yet: so many entries are made when files are put there. What cannot be
 * looked up counts; putting a file there fails for a reason of its own.
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
