import { because } from '../causes/causes.ts'
import { AppError } from '../errors.ts'

/**
 * Limits of event streams at one manager and at one console. Tabs of a browser share one, and so do the tunnels of a local proxy, so a
 * person with desktop app, browsers and command line on several computers has about a dozen.
 */
export const STREAM_LIMITS = { signIn: 32, person: 128 } as const

export interface StreamPlaces {
  /**
   * Counts one more stream.
   *
   * @param signIn or keypair
   * @param makeRoom closes the stream, whose place another sign-in of the person gets; it has been counted as closed
   * @returns a function that ends the count
   * @throws AppError `rate_limited`
   */
  take(signIn: string, person: string, makeRoom: () => void): () => void
}

interface Place {
  readonly makeRoom: () => void
}

/**
 * Counts event streams, of each sign-in and of each person: one person may have any number of sign-ins.
 *
 * Fairness: programs that hold all streams of a person would keep that person's browser out. So where a person has all, the sign-in with
 * most gives up its oldest stream to one that has at least two fewer. The stream that was closed cannot take its place back in the same
 * way, so sign-ins do not close each other's streams in turns.
 */
export function createStreamPlaces(): StreamPlaces {
  const persons = new Map<string, Map<string, Set<Place>>>()

  function leave(person: string, signIn: string, place: Place): void {
    const own = persons.get(person)
    const places = own?.get(signIn)
    places?.delete(place)
    if (places?.size === 0) own?.delete(signIn)
    if (own?.size === 0) persons.delete(person)
  }

  /** Closes the oldest stream of the sign-in with most. @returns whether it did: not if the newcomer would then have as many */
  function makeRoom(person: string, count: number): boolean {
    const [signIn, places] = [...(persons.get(person) ?? [])].reduce((most, one) =>
      one[1].size > most[1].size ? one : most,
    )
    const [oldest] = places
    if (!oldest || places.size < count + 2) return false
    leave(person, signIn, oldest)
    oldest.makeRoom()
    return true
  }

  return {
    take(signIn, person, close) {
      const own = persons.get(person) ?? new Map<string, Set<Place>>()
      const count = own.get(signIn)?.size ?? 0
      if (count >= STREAM_LIMITS.signIn) throw tooMany('streams_at_most', STREAM_LIMITS.signIn)
      const all = [...own.values()].reduce((sum, { size }) => sum + size, 0)
      if (all >= STREAM_LIMITS.person && !makeRoom(person, count))
        throw tooMany('streams_of_person', STREAM_LIMITS.person)
      const place: Place = { makeRoom: close }
      own.set(signIn, (own.get(signIn) ?? new Set<Place>()).add(place))
      persons.set(person, own)
      return () => leave(person, signIn, place)
    },
  }
}

function tooMany(cause: 'streams_at_most' | 'streams_of_person', limit: number): AppError {
  return new AppError('rate_limited', { ...because(cause, { limit }), whySaysNext: true })
}
