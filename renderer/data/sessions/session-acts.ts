import { ref } from 'vue'
import {
  type ApiClient,
  type FolderId,
  type FolderMountSpec,
  type Notice,
  type Session,
  type SessionId,
  type SessionRestart,
  type SessionSpec,
} from '#manager/contract'

type LaunchAnswer = Awaited<ReturnType<ApiClient['createSession']>>

/**
 * Actions of a person on sessions. The rows change with the answer, before any hint; all actions throw as their routes.
 *
 * @param put adds the sessions of an answer to those on the page
 */
export function createSessionActs(api: ApiClient, put: (sessions: readonly Session[]) => void) {
  /** Sessions just launched from this page: shown with an accent for a moment. */
  const fresh = ref<ReadonlySet<SessionId>>(new Set())

  async function shown(answer: Promise<Session>): Promise<Session> {
    const session = await answer
    put([session])
    return session
  }

  function putFresh(items: readonly Session[]): void {
    put(items)
    fresh.value = new Set(items.map(({ id }) => id))
  }

  return {
    fresh,
    /** Fetches one session by id from the server. @throws `session_not_found`, `unavailable` */
    fetchOne: (id: SessionId) => shown(api.getSession({ params: { id } })),
    async launch(spec: SessionSpec): Promise<LaunchAnswer> {
      const answer = await api.createSession({ body: spec })
      putFresh(answer.items)
      return answer
    },
    /** Postpones the end of which the owner was warned. */
    async extend(id: SessionId): Promise<void> {
      await shown(api.extendSession({ params: { id }, body: {} }))
    },
    /** Cancels or ends a session. */
    async terminate(id: SessionId, why = ''): Promise<void> {
      await shown(api.deleteSession({ params: { id }, ...(why === '' ? {} : { query: { why } }) }))
    },
    /** Starts the session again on the same agent with its files. */
    async restart(id: SessionId, body: SessionRestart = {}): Promise<{ session: Session; notices: readonly Notice[] }> {
      const { notices = [], ...session } = await api.restartSession({ params: { id }, body })
      putFresh([session])
      return { session, notices }
    },
    /** Adds a folder to a running session. */
    async addFolder(id: SessionId, body: FolderMountSpec): Promise<void> {
      await shown(api.addSessionFolder({ params: { id }, body }))
    },
    /** Removes a folder from a running session. */
    async takeFolder(id: SessionId, folderId: FolderId, force: boolean): Promise<void> {
      await shown(api.removeSessionFolder({ params: { id, folderId }, query: force ? { force: 'true' } : {} }))
    },
  }
}
