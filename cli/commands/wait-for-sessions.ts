import { type ApiClient, AppError, isFinished, type Session } from '#manager/contract'
import { type Output } from '../output.ts'
import { pollUntil } from '../poll.ts'
import { everyPage } from './every-page.ts'

interface Wait {
  readonly api: ApiClient
  readonly sessions: readonly Session[]
  /** Ends the wait, not the sessions. */
  readonly signal: AbortSignal
  readonly output: Output
}

/**
 * Waits until all sessions run, or, for batch sessions, have ended; prints why they wait. When `signal` fires, returns their
 * current state.
 *
 * @throws AppError `session_not_running` with the reason if an interactive session ended instead
 */
export async function waitForCreated({ api, sessions, signal, output }: Wait): Promise<readonly Session[]> {
  const told = new Map<string, string>()
  const tell = ({ id, name, status, reason }: Session) => {
    if (reason.message !== told.get(id) && status !== 'RUNNING') output.note(`${name}: ${status} – ${reason.message}`)
    told.set(id, reason.message)
  }
  const reached = await pollUntil({
    first: sessions,
    ask: last => refresh(api, last, isReached, signal),
    done: now => {
      now.forEach(tell)
      return now.some(endedInstead) || now.every(isReached)
    },
    signal,
    note: output.note,
  })
  const ended = reached.find(endedInstead)
  if (!ended) return reached
  throw new AppError('session_not_running', { why: `${ended.name} is ${ended.status}: ${ended.reason.message}` })
}

/** Waits until all have ended. When `signal` fires, returns their current state. */
export async function waitForEnded({ api, sessions, signal, output }: Wait): Promise<readonly Session[]> {
  return await pollUntil({
    first: sessions,
    ask: last => refresh(api, last, hasEnded, signal),
    done: now => now.every(hasEnded),
    signal,
    note: output.note,
  })
}

const hasEnded = ({ status }: Session) => isFinished(status)
const isReached = (session: Session) => hasEnded(session) || (session.status === 'RUNNING' && session.kind !== 'batch')
const endedInstead = (session: Session) => hasEnded(session) && session.kind !== 'batch'

/** Refreshes unfinished sessions: several with one request, so that their number does not matter. */
async function refresh(
  api: ApiClient,
  sessions: readonly Session[],
  isThere: (session: Session) => boolean,
  signal: AbortSignal,
): Promise<readonly Session[]> {
  const awaited = sessions.filter(session => !isThere(session))
  const live = awaited.length > 1 ? await ownLiveSessions(api, signal) : []
  const look = async (session: Session) => {
    if (isThere(session)) return session
    const { id } = session
    return live.find(one => one.id === id) ?? (await api.getSession({ params: { id }, signal }))
  }
  return await Promise.all(sessions.map(look))
}

const ownLiveSessions = (api: ApiClient, signal: AbortSignal) =>
  everyPage(cursor => api.listSessions({ query: { status: 'live', mine: 'true', ...cursor }, signal }))
