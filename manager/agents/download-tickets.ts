import { randomBytes } from 'node:crypto'
import { hashToken } from '../users/secrets.ts'

export interface DownloadTickets {
  /** @returns a ticket that opens the download of this archive for a while */
  issue(sha256: string): string
  /** Whether the ticket opens the download of this archive now. */
  opens(ticket: string, sha256: string): boolean
}

const VALID_MS = 20 * 60_000

/**
 * Tickets with which agents fetch a program from this manager. Each is for one archive; 256 random bits, in memory as a hash only, lost with
 * the process.
 */
export function createDownloadTickets(now: () => number = () => performance.now()): DownloadTickets {
  const issued = new Map<string, { readonly sha256: string; readonly until: number }>()
  return {
    issue(sha256) {
      for (const [key, { until }] of issued) if (until < now()) issued.delete(key)
      const ticket = randomBytes(32).toString('base64url')
      issued.set(hashToken(ticket).toString('hex'), { sha256, until: now() + VALID_MS })
      return ticket
    },
    opens(ticket, sha256) {
      const known = issued.get(hashToken(ticket).toString('hex'))
      return known !== undefined && known.sha256 === sha256 && known.until >= now()
    },
  }
}
