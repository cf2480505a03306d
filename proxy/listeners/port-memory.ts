import { join } from 'node:path'
import { z } from 'zod'
import { readIfThere, writeFileAtomically } from '../files.ts'

const Entry = z.object({
  port: z.int().min(1).max(65_535),
  /** The session that used the port last: its browser origin has been cleared already. */
  sessionId: z.string(),
  usedAt: z.iso.datetime(),
})
type Entry = z.infer<typeof Entry>
const Book = z.record(z.string(), Entry)

const MAX_ENTRIES = 500

/** Remembers the last port of each (session name, app) of this user, so that bookmarks and saved sites keep working. */
export interface PortMemory {
  recall(sessionName: string, app: string): Promise<Entry | undefined>
  remember(sessionName: string, app: string, use: { port: number; sessionId: string }): Promise<void>
}

/**
 * One JSON file per user. Several proxies (desktop, console, CLI) may share it: each write reads the file again first. If two
 * write in the same instant, the later one wins, which costs only a port number. A damaged file counts as empty.
 */
export function createPortMemory(directory: string, now: () => Date = () => new Date()): PortMemory {
  const path = join(directory, 'ports.json')
  const keyOf = (sessionName: string, app: string) => `${sessionName}/${app}`
  let writing: Promise<void> = Promise.resolve()

  async function read(): Promise<Record<string, Entry>> {
    try {
      return Book.parse(JSON.parse((await readIfThere(path)) ?? '{}'))
    } catch {
      return {}
    }
  }

  return {
    recall: async (sessionName, app) => (await read())[keyOf(sessionName, app)],
    remember(sessionName, app, use) {
      writing = writing
        .catch(() => undefined)
        .then(async () => {
          const book = await read()
          book[keyOf(sessionName, app)] = { ...use, usedAt: now().toISOString() }
          const newest = Object.entries(book).sort(([, a], [, b]) => b.usedAt.localeCompare(a.usedAt))
          await writeFileAtomically(path, JSON.stringify(Object.fromEntries(newest.slice(0, MAX_ENTRIES)), null, 2))
        })
      return writing
    },
  }
}
