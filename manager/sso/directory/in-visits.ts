import { type DirectoryAccess, type DirectoryClient } from './client.ts'

/** People who are asked about in one visit: ten searches, which a slow directory answers within the time of a visit. */
export const PEOPLE_PER_VISIT = 500

type Presence = Awaited<ReturnType<DirectoryClient['present']>>

/**
 * Asks about any number of people, in as many visits as they need: a visit is limited in time and in bytes.
 *
 * @throws AppError as `present`; never returns a part
 */
export async function presentInVisits(
  client: Pick<DirectoryClient, 'present'>,
  access: DirectoryAccess,
  subjects: readonly string[],
): Promise<Presence> {
  const there = new Map<string, 'on' | 'off'>()
  for (let from = 0; from < subjects.length; from += PEOPLE_PER_VISIT) {
    const found = await client.present(access, subjects.slice(from, from + PEOPLE_PER_VISIT))
    for (const [subject, state] of found) there.set(subject, state)
  }
  return there
}
