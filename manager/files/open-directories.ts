import { type Directory } from '../storage/beneath.ts'
import { followingLinks } from '../storage/real-path.ts'

/** Keeps directories open for the next file: files that are read together are usually in the same directory. */
export interface OpenDirectories extends AsyncDisposable {
  /** Runs work with an open directory. @throws as `Directory.walk`; errors of the work */
  use<T>(path: string, work: (directory: Directory) => Promise<T>): Promise<T>
}

const MOST_OPEN = 16

/** Disposing closes the directories, after the last use. */
export function createOpenDirectories(top: Directory): OpenDirectories {
  interface Held {
    readonly directory: Promise<Directory>
    users: number
  }
  const held = new Map<string, Held>()
  const close = ({ directory }: Held) =>
    directory.then(
      one => one[Symbol.asyncDispose](),
      () => undefined, // the failed open was already reported to its callers
    )

  async function closeUnused(): Promise<void> {
    for (const [path, one] of held) {
      if (held.size <= MOST_OPEN) return
      if (one.users > 0) continue
      held.delete(path)
      await close(one)
    }
  }

  return {
    async use(path, work) {
      let one = held.get(path)
      if (!one) held.set(path, (one = { directory: followingLinks(top, path, at => top.walk(at)), users: 0 }))
      one.users++
      try {
        return await work(await one.directory)
      } finally {
        one.users--
        await closeUnused()
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...held.values()].map(close))
    },
  }
}
