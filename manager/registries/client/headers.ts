/** A challenge of a `WWW-Authenticate` header. @see RFC 9110 section 11.6.1 */
export interface Challenge {
  /** Lower case. */
  readonly scheme: string
  readonly parameters: Readonly<Record<string, string>>
}

/** Each name is read from its begin only, so that a long header takes no longer than it is. */
const PARTS = /(?<![\w-])(?:([A-Za-z][\w-]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))|([A-Za-z][\w-]*)(?=\s|,|$))/g

/** Parses challenges with and without parameters; unreadable parts are left out. */
export function parseChallenges(header: string): Challenge[] {
  const challenges: { scheme: string; parameters: Record<string, string> }[] = []
  for (const [, name, quoted, bare, scheme] of header.matchAll(PARTS)) {
    if (scheme !== undefined) challenges.push({ scheme: scheme.toLowerCase(), parameters: {} })
    else {
      const current = challenges.at(-1)
      if (current && name !== undefined)
        current.parameters[name.toLowerCase()] = quoted?.replace(/\\(.)/g, '$1') ?? bare ?? ''
    }
  }
  return challenges
}

/** Address of the next page from a `Link` header. @see RFC 8288 */
export function parseNextLink(header: string | null): string | undefined {
  return /<([^<>]*)>\s*;[^,<]*\brel="?next"?/i.exec(header ?? '')?.[1]
}
