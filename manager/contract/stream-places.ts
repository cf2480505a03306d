import { createOpenCounts } from '#base/open-counts'
import { because } from './causes/causes.ts'
import { AppError } from './errors.ts'

/**
 * Limits of event streams at one manager and at one console. Tabs of a browser share one, and so do the tunnels of a local proxy, so a
 * person with desktop app, browsers and command line on several computers has about a dozen.
 */
export const STREAM_LIMITS = { signIn: 32, person: 128 } as const

export interface StreamPlaces {
  /** Counts one more stream. @param signIn or keypair @returns a function that ends the count @throws AppError `rate_limited` */
  take(signIn: string, person: string): () => void
}

/** Counts event streams. Limiting sign-ins alone would not suffice, because one person may have any number of them. */
export function createStreamPlaces(): StreamPlaces {
  const counts = createOpenCounts()
  return {
    take(signIn, person) {
      const leave = counts.take(`sign-in:${signIn}`, STREAM_LIMITS.signIn)
      if (!leave) throw tooMany('streams_at_most', STREAM_LIMITS.signIn)
      const leavePerson = counts.take(`person:${person}`, STREAM_LIMITS.person)
      if (leavePerson) {
        return () => {
          leavePerson()
          leave()
        }
      }
      leave()
      throw tooMany('streams_of_person', STREAM_LIMITS.person)
    },
  }
}

function tooMany(cause: 'streams_at_most' | 'streams_of_person', limit: number): AppError {
  return new AppError('rate_limited', { ...because(cause, { limit }), whySaysNext: true })
}
