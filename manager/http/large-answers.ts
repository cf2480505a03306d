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
 * Bounds what the answers of one person hold in memory.
 *
 * Threat model: an answer stays in memory until its reader has taken it, for minutes if the reader does not, and a person has 256 calls at
 * once. A list also holds its rows while it is made. So few of one person are made at a time, and none while what is unread is much. Hundreds
 * of rows take tens of milliseconds to write, in which nobody else is served: a person gets such lists one after the other.
 */
export interface LargeAnswers {
  /** Waits for the turn of this call. @returns ends its turn @throws AppError `rate_limited` */
  begin(userId: UserId, route: RouteName, query?: unknown): Promise<() => void>
  /** Counts an answer that is being sent. @returns ends it */
  hold(userId: UserId, characters: number): () => void
}

/** Whether a query asks for hundreds of rows of the database. */
export const isLongList = (route: RouteName, query: unknown): boolean =>
  !LISTS_OF_FILES.has(route) && ((query as { limit?: number } | undefined)?.limit ?? 0) > LONG

/** Lists of a person that are being made, and those that wait for it. */
interface Gate {
  readonly most: number
  made: number
  readonly waiting: (() => void)[]
}

interface Person {
  readonly lists: Gate
  readonly long: Gate
  unread: number
}

export function createLargeAnswers(): LargeAnswers {
  const people = new Map<UserId, Person>()

  function personOf(userId: UserId): Person {
    const person = people.get(userId) ?? { lists: gateOf(MOST_AT_ONCE), long: gateOf(1), unread: 0 }
    people.set(userId, person)
    return person
  }
  function forget(userId: UserId, { lists, long, unread }: Person): void {
    if (lists.made === 0 && long.made === 0 && unread === 0) people.delete(userId)
  }

  return {
    async begin(userId, route, query) {
      const [isLong, isList] = [isLongList(route, query), LISTS.has(route)]
      if (!isLong && !isList) return () => undefined
      const person = personOf(userId)
      const gates = [...(isLong ? [person.long] : []), ...(isList ? [person.lists] : [])]
      for (const gate of gates) await enter(gate)
      const end = () => {
        for (const gate of gates) leave(gate)
        forget(userId, person)
      }
      if (!isList || person.unread <= MOST_UNREAD) return end
      end()
      const why = because('answers_unread', { limit: MOST_UNREAD / 1024 / 1024 })
      throw new AppError('rate_limited', { ...why, whySaysNext: true, retryAfterSeconds: RETRY_AFTER_SECONDS })
    },
    hold(userId, characters) {
      const person = personOf(userId)
      person.unread += characters
      return () => {
        person.unread -= characters
        forget(userId, person)
      }
    },
  }
}

const gateOf = (most: number): Gate => ({ most, made: 0, waiting: [] })

async function enter(gate: Gate): Promise<void> {
  // The one that leaves hands its place over.
  if (gate.made >= gate.most) await new Promise<void>(resolve => gate.waiting.push(resolve))
  else gate.made++
}

function leave(gate: Gate): void {
  const next = gate.waiting.shift()
  if (next) next()
  else gate.made--
}
