import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { readIfThere, writeFileAtomically } from '../files.ts'

const Entry = z.object({
  port: z.int().min(1).max(65_535),
  /** The session that used the port last: its browser origin has been cleared already. */
  sessionId: z.string(),
  usedAt: z.iso.datetime(),
  /** Earlier ports, the latest first. */
  before: z.array(z.int().min(1).max(65_535)).default([]),
})
type Entry = z.infer<typeof Entry>
const Book = z.record(z.string(), Entry)

const MAX_ENTRIES = 500
const MAX_BEFORE = 50

/** Remembers the last port of each (session name, app) of this user, so that bookmarks and saved sites keep working. */
export interface PortMemory {
  recall(sessionName: string, app: string): Promise<Entry | undefined>
  remember(sessionName: string, app: string, use: { port: number; sessionId: string }): Promise<void>
  /** All remembered ports of all apps: the last one of each, and up to 50 earlier ones. */
  all(): Promise<ReadonlySet<number>>
}

/**
 * Keeps a JSON file per user. Several proxies (desktop, console, CLI) may share it: each write looks first whether the file has changed. If
 * two write in the same instant, the later one wins, which costs only a port number. A damaged file counts as empty. Ports that are
 * remembered while the file is being written are written together, afterwards.
 */
export function createPortMemory(directory: string, now: () => Date = () => new Date()): PortMemory {
  const path = join(directory, 'ports.json')
  const keyOf = (sessionName: string, app: string) => `${sessionName}/${app}`
  let known: { readonly version: string; readonly book: Readonly<Record<string, Entry>> } | undefined
  const pending = new Map<string, Entry>()
  let writing: Promise<void> = Promise.resolve()
  /** The write that is queued: it will include all pending ports. */
  let next: Promise<void> | undefined

  /** Identifies the content: a write replaces the file, which gives it another inode. */
  async function versionOf(): Promise<string> {
    const found = await stat(path).catch(() => undefined)
    return found ? `${found.ino} ${found.size} ${found.mtimeMs}` : 'none'
  }

  async function read(): Promise<Readonly<Record<string, Entry>>> {
    const version = await versionOf()
    if (known?.version === version) return known.book
    let book: Record<string, Entry> = {}
    try {
      book = Book.parse(JSON.parse((await readIfThere(path)) ?? '{}'))
    } catch {
      // A damaged file counts as empty; the next write replaces it.
    }
    known = { version, book }
    return book
  }

  async function write(): Promise<void> {
    next = undefined
    const before = await read()
    const added = [...pending].map(
      ([key, entry]) => [key, { ...entry, before: portsBefore(entry, before[key]) }] as const,
    )
    const book = { ...before, ...Object.fromEntries(added) }
    pending.clear()
    const newest = Object.entries(book)
      .sort(([, a], [, b]) => b.usedAt.localeCompare(a.usedAt))
      .slice(0, MAX_ENTRIES)
    const kept = Object.fromEntries(newest)
    await writeFileAtomically(path, JSON.stringify(kept, null, 2))
    known = { version: await versionOf(), book: kept }
  }

  return {
    recall: async (sessionName, app) => pending.get(keyOf(sessionName, app)) ?? (await read())[keyOf(sessionName, app)],
    async all() {
      const entries = [...Object.values(await read()), ...pending.values()]
      return new Set(entries.flatMap(({ port, before }) => [port, ...before]))
    },
    remember(sessionName, app, use) {
      const key = keyOf(sessionName, app)
      const entry = { ...use, usedAt: now().toISOString(), before: [] }
      pending.set(key, { ...entry, before: portsBefore(entry, pending.get(key)) })
      next ??= writing = writing.catch(() => undefined).then(write)
      return next
    },
  }
}

/** Earlier ports of an app, including its last one, without the present one. */
function portsBefore({ port, before }: Entry, last: Entry | undefined): number[] {
  const ports = new Set([...before, ...(last ? [last.port, ...last.before] : [])])
  ports.delete(port)
  return [...ports].slice(0, MAX_BEFORE)
}
