import { randomInt } from 'node:crypto'
import { type AskedLocally } from '#proxy/contract'

/**
 * Meaning of a proof: the browser belongs to the account under which the console runs (`account`), or to some user of the same
 * computer (`computer`). Files of the console's account are written for the first only.
 */
export type ProofLevel = 'account' | 'computer'

/** Codes that a browser shows, `berth local` confirms, and the same browser then exchanges for a proof, once. */
export interface LocalCodes {
  /** @param owner identifies the sign-in of the browser; its earlier code becomes invalid */
  ask(owner: string, about: Omit<AskedLocally, 'secondsAgo'>): string
  /** Undefined for a code that no browser shows now, or that is confirmed already. */
  find(code: string): AskedLocally | undefined
  /** @returns false for a code that no browser shows now, or that is confirmed already */
  confirm(code: string, level: ProofLevel): boolean
  /** Redeems the code. @returns undefined until it is confirmed, and for the code of another browser */
  take(code: string, owner: string): ProofLevel | undefined
}

export const CODE_SECONDS = 5 * 60
/** Without characters that are easily confused: 40 bits in eight characters. */
const ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'
const LENGTH = 8
/** Largest number of waiting browsers; a further one invalidates the oldest code. */
const MOST = 1_000

export function createLocalCodes(now: () => number = () => performance.now()): LocalCodes {
  const codes = new Map<string, Omit<AskedLocally, 'secondsAgo'> & { owner: string; at: number; level?: ProofLevel }>()

  function known(text: string) {
    for (const [code, { at }] of codes) if (now() - at >= CODE_SECONDS * 1_000) codes.delete(code)
    const code = text.toUpperCase().replace(/[^0-9A-Z]/g, '')
    return { code, asked: codes.get(code) }
  }

  return {
    ask(owner, about) {
      for (const [code, one] of codes) if (one.owner === owner) codes.delete(code)
      const [oldest] = codes.keys()
      if (codes.size >= MOST && oldest !== undefined) codes.delete(oldest)
      const code = Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
      codes.set(code, { ...about, owner, at: now() })
      return `${code.slice(0, 4)}-${code.slice(4)}`
    },
    find(text) {
      const { asked } = known(text)
      if (!asked || asked.level !== undefined) return undefined
      const { email, browser, uid, at } = asked
      return { email, browser, uid, secondsAgo: Math.round((now() - at) / 1_000) }
    },
    confirm(text, level) {
      const { asked } = known(text)
      if (!asked || asked.level !== undefined) return false
      asked.level = level
      return true
    },
    take(text, owner) {
      const { code, asked } = known(text)
      if (asked?.level === undefined || asked.owner !== owner) return undefined
      codes.delete(code)
      return asked.level
    },
  }
}
