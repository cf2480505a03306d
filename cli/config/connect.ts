import { type ApiClient, AppError, createClient, SessionId, type Session } from '#manager/contract'
import { readSignIn, type SignIn } from './sign-in.ts'

export interface Connection {
  readonly api: ApiClient
  readonly signIn: SignIn
  readonly headers: Record<string, string>
}

export function clientOf(baseUrl: string, headers: Readonly<Record<string, string>> = {}): ApiClient {
  return createClient({ baseUrl, headers: () => headers, fetch: (url, init) => fetch(url, init as RequestInit) })
}

/** The API as the signed-in user. BERTH_ENDPOINT overrides the endpoint of the sign-in. */
export async function connect(): Promise<Connection> {
  const signIn = await readSignIn()
  const endpoint = (process.env.BERTH_ENDPOINT ?? signIn.endpoint).replace(/\/+$/, '')
  const headers = { authorization: `Bearer ${signIn.token}` }
  return { api: clientOf(endpoint, headers), signIn: { ...signIn, endpoint }, headers }
}

/**
 * A session by id, by the start of its id (8 characters or more), or by name; the newest one of that name.
 * @throws AppError `session_not_found`
 */
export async function findSession(api: ApiClient, reference: string): Promise<Session> {
  if (SessionId.safeParse(reference).success) return await api.getSession({ params: { id: reference } })
  const byName = await api.listSessions({ query: { name: reference, limit: 20 } })
  const named = byName.items.filter(session => session.name === reference)
  const newest = named.find(session => session.endedAt === null) ?? named[0]
  if (newest) return newest
  if (/^[0-9a-f-]{8,}$/.test(reference)) {
    const all = await api.listSessions({ query: { limit: 500 } })
    const matches = all.items.filter(session => session.id.startsWith(reference))
    if (matches.length > 1)
      throw new AppError('bad_request', { why: `"${reference}" fits ${matches.length} sessions.` })
    if (matches[0]) return matches[0]
  }
  throw new AppError('session_not_found', { why: `You have no session "${reference}". See \`berth session ls\`.` })
}
