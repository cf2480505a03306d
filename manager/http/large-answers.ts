import { createSemaphore } from '#base/semaphore'
import { AppError, because, type RouteName, type UserId } from '#manager/contract'

/** Lists from the database whose rows hold texts of users: the longest page of sessions has about 25 MiB. */
const LISTS: ReadonlySet<RouteName> = new Set<RouteName>([
  'listSessions',
  'listQueue',
  'listSessionTemplates',
  'listImageDefaults',
])
/** Such lists of one person that are made at a time at one manager; the next ones wait. A page of the console asks for six. */
const MOST_AT_ONCE = 4
/** Rows of a long list. */
const LONG = 100
/** Lists that wait for a storage, which may hang: the files of other storages do not wait for it. */
const LISTS_OF_FILES: ReadonlySet<RouteName> = new Set<RouteName>(['listFiles', 'searchFiles'])
/** Characters of JSON answers of one person that the manager holds because they have not been read. */
const MOST_UNREAD = 32 * 1024 * 1024
const RETRY_AFTER_SECONDS = 2

/**
 * Limits the memory used by the answers to one person.
 *
 * Threat model: an answer stays in memory until its reader has taken it, for minutes if the reader does not, and a person has 256 calls at
 * once. A list also holds its rows while it is made. So only a few of a person's lists are made at a time, and none while many of the
 * person's answers are unread. Hundreds of rows take tens of milliseconds to write, in which nobody else is served: a person gets such
 * lists one after the other.
 */
export interface LargeAnswers {
  /** Waits for the turn of this call. @returns ends its turn @throws AppError `rate_limited` */
  begin(userId: UserId, route: RouteName, query?: unknown): Promise<() => void>
  /** Counts an answer that is being sent. @returns ends it */
  hold(userId: UserId, characters: number): () => void
}

/** Lists without pages that may have megabytes. */
const WHOLE_LISTS: ReadonlySet<RouteName> = new Set<RouteName>(['listSessionTemplates', 'listImageDefaults'])

/** Whether a query asks for hundreds of rows of the database, or for as much text. */
export const isLongList = (route: RouteName, query: unknown): boolean =>
  WHOLE_LISTS.has(route) ||
  (!LISTS_OF_FILES.has(route) && ((query as { limit?: number } | undefined)?.limit ?? 0) > LONG)

export function createLargeAnswers(): LargeAnswers {
  const lists = createSemaphore(Infinity)
  const long = createSemaphore(Infinity)
  /** Characters that a person has not read. */
  const unread = new Map<UserId, number>()

  function count(userId: UserId, characters: number): void {
    const sum = (unread.get(userId) ?? 0) + characters
    if (sum > 0) unread.set(userId, sum)
    else unread.delete(userId)
  }

  return {
    async begin(userId, route, query) {
      const turns: (() => void)[] = []
      const end = () => turns.forEach(one => one())
      if (isLongList(route, query)) turns.push(await long.take(userId, { most: 1 }))
      if (!LISTS.has(route)) return end
      turns.push(await lists.take(userId, { most: MOST_AT_ONCE }))
      if ((unread.get(userId) ?? 0) <= MOST_UNREAD) return end
      end()
      const why = because('answers_unread', { limit: MOST_UNREAD / 1024 / 1024 })
      throw new AppError('rate_limited', { ...why, whySaysNext: true, retryAfterSeconds: RETRY_AFTER_SECONDS })
    },
    hold(userId, characters) {
      count(userId, characters)
      return () => count(userId, -characters)
    },
  }
}
