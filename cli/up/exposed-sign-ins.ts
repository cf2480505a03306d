import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Marks a data directory whose console spoke TLS when `berth up` ran there last. */
const MARK = 'console-spoke-tls'

/**
 * Before the console starts: ends the sign-ins of browsers, unless the console spoke TLS all the time since they were made.
 *
 * Threat model: while Berth is stopped, another user of this computer can listen at the console's port. Tabs that are still open then send
 * both halves of their sign-in to that user's program, over plain http. With TLS they do not: the program has no key of the console.
 *
 * @param end ends all sign-ins of browsers
 * @returns to be called with the URL of the console once it listens
 */
export async function endExposedSignIns(
  directory: string,
  end: () => Promise<unknown>,
): Promise<(url: string) => Promise<void>> {
  const mark = join(directory, MARK)
  // Remove the mark first: if anything fails from here on, the next start ends the sign-ins.
  const spokeTls = await rm(mark).then(
    () => true,
    () => false,
  )
  if (!spokeTls) await end()
  return async url => {
    if (url.startsWith('https:')) await writeFile(mark, '', { mode: 0o600 })
  }
}
