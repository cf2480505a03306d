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
/** Characters of JSON answers of one person that the manager holds because they have not been read. */
const MOST_UNREAD = 32 * 1024 * 1024
const RETRY_AFTER_SECONDS = 2

/**
 * Bounds what the answers of one person hold in memory.
 *
 * Threat model: an answer stays in memory until its reader has taken it, for minutes if the reader does not, and a person has 256 calls at
 * once. A long list also holds its rows while it is made. So few of one person are made at a time, and none while what is unread is much.
 */
export interface LargeAnswers {
  /** Waits for the turn of this call. @returns ends its turn @throws AppError `rate_limited` */
  begin(userId: UserId, route: RouteName): Promise<() => void>
  /** Counts an answer that is being sent. @returns ends it */
  hold(userId: UserId, characters: number): () => void
}

interface Person {
  made: number
  unread: number
  readonly waiting: (() => void)[]
}

export function createLargeAnswers(): LargeAnswers {
  const people = new Map<UserId, Person>()

  function personOf(userId: UserId): Person {
    const person = people.get(userId) ?? { made: 0, unread: 0, waiting: [] }
    people.set(userId, person)
    return person
  }
  function forget(userId: UserId, { made, unread }: Person): void {
    if (made === 0 && unread === 0) people.delete(userId)
  }

  return {
    async begin(userId, route) {
      if (!LISTS.has(route)) return () => undefined
      const person = personOf(userId)
      // The one that ends hands its place over.
      if (person.made >= MOST_AT_ONCE) await new Promise<void>(resolve => person.waiting.push(resolve))
      else person.made++
      const end = () => {
        const next = person.waiting.shift()
        if (next) next()
        else person.made--
        forget(userId, person)
      }
      if (person.unread <= MOST_UNREAD) return end
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
