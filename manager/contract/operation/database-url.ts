/**
 * The servers that a PostgreSQL URL names, each as a URL of its own: `postgresql://user:password@one:5432,two:5433/database` are two. libpq reads such
 * lists, node-postgres does not.
 *
 * A `target_session_attrs` that asks for the server that takes writes is left out, because Berth always looks for that one.
 *
 * @returns undefined if the text is no URL of PostgreSQL, or asks for another kind of server
 */
export function urlsOfServers(text: string): [string, ...string[]] | undefined {
  const parts = URL_OF_SERVERS.exec(text)?.groups
  if (!parts) return undefined
  const { start = '', hosts = '', path = '', query = '' } = parts
  const names = hosts.split(',')
  if (names.length > 1 && names.includes('')) return undefined
  if (!names.every(name => HOST.test(name))) return undefined
  const options = query.split('&').filter(option => option !== '')
  const wrong = options.find(option => option.startsWith(TARGET) && !WRITABLE.has(option.slice(TARGET.length)))
  if (wrong !== undefined) return undefined
  const kept = options.filter(option => !option.startsWith(TARGET)).join('&')
  const urls = names.map(name => `${start}${name}${path}${kept && `?${kept}`}`)
  return urls as [string, ...string[]]
}

/** `start` ends before the names of the servers, with user and password in it. */
const URL_OF_SERVERS =
  /^(?<start>postgres(?:ql)?:\/\/(?:[^/?#]*@)?)(?<hosts>[^/?#@]*)(?<path>[^?#]*)(?:\?(?<query>[^#]*))?$/
/** A name, an IPv4 address, an IPv6 address in brackets, or the path of a socket with its slashes encoded; and a port. */
const HOST = /^(?:\[[\da-f:.]+\]|[^:[\]\s]*)(?::\d{1,5})?$/i
const TARGET = 'target_session_attrs='
const WRITABLE: ReadonlySet<string> = new Set(['read-write', 'primary'])

/**
 * SQL expression for the timeline on which a primary writes: it grows with each promotion. A standby has none, and a service that offers
 * PostgreSQL may keep it from its users; then the query fails. For managers and for `berth doctor`.
 */
export const TIMELINE_SQL = `('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int`
