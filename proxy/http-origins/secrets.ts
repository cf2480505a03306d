import { randomBytes, timingSafeEqual } from 'node:crypto'

/** Compares in constant time. The length may leak: all secrets of a kind have the same length. */
export function isSameSecret(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

export interface Tickets {
  /** A ticket for one visit. */
  issue(): string
  /** True if the ticket could be redeemed now. */
  isGood(ticket: string): boolean
  /** True once per issued ticket, within its life. */
  redeem(ticket: string): boolean
}

const MAX_OUTSTANDING = 32

/**
 * Single-use tickets of one origin. Threat model: a ticket travels in a URL, so it may end up in a history or be seen by an
 * extension; it is good for one visit within a minute, and a used or expired one is worthless. A lookup compares with every
 * outstanding ticket in constant time.
 */
export function createTickets(options: { readonly lifeMs: number; readonly now?: () => number }): Tickets {
  const now = options.now ?? (() => performance.now())
  let outstanding: { readonly ticket: string; readonly until: number }[] = []
  const matching = (ticket: string) => {
    outstanding = outstanding.filter(entry => entry.until > now())
    return outstanding.filter(entry => isSameSecret(entry.ticket, ticket))
  }
  return {
    issue() {
      const ticket = randomBytes(32).toString('base64url')
      outstanding = [...outstanding, { ticket, until: now() + options.lifeMs }].slice(-MAX_OUTSTANDING)
      return ticket
    },
    isGood: ticket => matching(ticket).length > 0,
    redeem(ticket) {
      const matches = matching(ticket)
      outstanding = outstanding.filter(entry => !matches.includes(entry))
      return matches.length > 0
    },
  }
}

export const randomSecret = () => randomBytes(32).toString('base64url')
