import { parseJson } from '#base/parse-json'

/**
 * Removes secrets from the diagnostics bundle.
 *
 * Threat model: people send the bundle to others. No part of it should hold a secret; this file removes those that are there by mistake,
 * such as in an error text with a URL. It rather removes too much.
 */
export interface Redactor {
  /** Cleans a value for JSON: values under the name of a secret are removed, and every text is cleaned. */
  value(value: unknown): unknown
  text(text: string): string
  /** Cleans a line of a log. A line of JSON is cleaned as a value, any other line as text. */
  line(line: string): string
}

export interface RedactorOptions {
  /** Secrets of this installation, removed wherever they occur. */
  readonly known: readonly string[]
  /** Names whose values are not secret, although the names look so. */
  readonly plainNames?: ReadonlySet<string>
  /** Replace e-mail addresses; the same address is always replaced by the same name. */
  readonly addresses: boolean
}

const REDACTED = '[blanked]'
/** Shorter secrets are not searched for, because such a text may be part of anything. */
const SHORTEST_KNOWN = 6
const SECRET_NAME =
  'pass(?:word|phrase|wd)|secret|token|cookie|authorization|credential|grant|ticket|private_?key|api_?key|environ|signature|database_?url'
const NAME = new RegExp(SECRET_NAME, 'i')
/** A PEM block, `-----BEGIN PRIVATE KEY-----…`, to its end or to that of a text that was cut. */
const PEM = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}-----|$)/g
const USER_OF_URL = /([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s"'<>]{0,2000}@/gi
const HEADER = /\b(authorization|proxy-authorization|cookie|set-cookie)(["']?\s*[:=]\s*)[^\r\n]*/gi
const BEARER = /\b(bearer|basic)\s+[\w.~+/=-]+/gi
const ASSIGNED = new RegExp(
  `([\\w.-]{0,40}(?:${SECRET_NAME})[\\w.-]{0,40}["']?\\s*[=:]\\s*)("[^"]*"|'[^']*'|[^\\s&,;]+)`,
  'gi',
)
const OWN_TOKEN = /berth(?:_|-join:)[\w-]{20,}/g
/** `sha256:` names an image, and is no secret. */
const RUN = /(sha256:)?[\w+/-]{20,}={0,2}/g
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const ADDRESS = /[^\s"'<>@:,;()[\]]{1,64}@[^\s"'<>@:,;()[\]]{1,190}/g

export function createRedactor({ known, plainNames, addresses }: RedactorOptions): Redactor {
  const secrets = known
    .filter(secret => secret.length >= SHORTEST_KNOWN)
    .flatMap(secret => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
    .sort((a, b) => b.length - a.length)
  const people = new Map<string, string>()
  const person = (address: string) => {
    const key = address.toLowerCase()
    const name = people.get(key) ?? `person-${people.size + 1}`
    people.set(key, name)
    return name
  }

  function text(given: string): string {
    let clean = given
    for (const secret of secrets) clean = clean.replaceAll(secret, REDACTED)
    clean = clean
      .replace(PEM, REDACTED)
      .replace(USER_OF_URL, `$1${REDACTED}@`)
      .replace(HEADER, `$1$2${REDACTED}`)
      .replace(BEARER, `$1 ${REDACTED}`)
      .replace(ASSIGNED, `$1${REDACTED}`)
      .replace(OWN_TOKEN, REDACTED)
      .replace(RUN, run => (isRandom(run) ? REDACTED : run))
    return addresses
      ? clean.replace(ADDRESS, found => (found.startsWith(`${REDACTED}@`) ? found : person(found)))
      : clean
  }

  function value(given: unknown): unknown {
    if (typeof given === 'string') return text(given)
    if (Array.isArray(given)) return given.map(value)
    if (typeof given !== 'object' || given === null) return given
    return Object.fromEntries(
      Object.entries(given).map(([name, inner]: [string, unknown]) => [
        text(name),
        // Whether a password is set is not secret.
        NAME.test(name) && !plainNames?.has(name) && inner !== null && typeof inner !== 'boolean'
          ? REDACTED
          : value(inner),
      ]),
    )
  }

  function line(given: string): string {
    const parsed = parseJson(given)
    return typeof parsed === 'object' && parsed !== null ? JSON.stringify(value(parsed)) : text(given)
  }

  return { text, value, line }
}

/** Whether a text looks like a key: mixed letters of both cases and digits, capitals and digits (base32), or hexadecimal. */
function isRandom(run: string): boolean {
  if (run.startsWith('sha256:') || UUID.test(run)) return false
  if (/^[0-9a-f]{32,}$/i.test(run)) return true
  if (/^[A-Z2-7]{20,}$/.test(run) && /\d/.test(run)) return true
  return run.length >= 28 && /[a-z]/.test(run) && /[A-Z]/.test(run) && /\d/.test(run)
}
