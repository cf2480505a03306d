import { type SessionService } from '../../sessions/service.ts'
import { type Handlers } from '../handlers.ts'

type SessionRoutes =
  | 'createSession'
  | 'whatIf'
  | 'listSessions'
  | 'getSession'
  | 'deleteSession'
  | 'listSessionEvents'
  | 'getSessionLogs'
  | 'getSshAccess'

export function createSessionRoutes({ sessions }: { sessions: SessionService }): Pick<Handlers, SessionRoutes> {
  return {
    whatIf: ({ caller }, { body }) => sessions.whatIf(caller, body),
    createSession: ({ caller }, { body }) => sessions.create(caller, body),
    listSessions: ({ caller }, { query }) => sessions.list(caller, query),
    getSession: ({ caller }, { params }) => sessions.get(caller, params.id),
    deleteSession: ({ caller }, { params }) => sessions.terminate(caller, params.id),
    listSessionEvents: async ({ caller }, { params }) => ({ items: await sessions.events(caller, params.id) }),
    getSessionLogs: ({ caller }, { params, query }) => sessions.logs(caller, params.id, query.tail),
    async getSshAccess({ caller, reply }, { params }) {
      void reply.header('cache-control', 'no-store')
      return sessions.sshAccess(caller, params.id)
    },
  }
}
