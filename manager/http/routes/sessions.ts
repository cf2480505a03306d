import { type LifetimeService } from '../../sessions/lifetime/service.ts'
import { type createSetPriority } from '../../sessions/priority.ts'
import { type SessionService } from '../../sessions/service.ts'
import { type SessionTemplates } from '../../sessions/templates.ts'
import { type Handlers } from '../handlers.ts'

type SessionRoutes =
  | 'createSession'
  | 'whatIf'
  | 'listSessions'
  | 'getSession'
  | 'deleteSession'
  | 'extendSession'
  | 'restartSession'
  | 'getSessionStats'
  | 'listSessionEvents'
  | 'getSessionLogs'
  | 'getSshAccess'
  | 'setSessionPriority'
  | 'listSessionTemplates'
  | 'saveSessionTemplate'
  | 'deleteSessionTemplate'

export function createSessionRoutes({
  sessions,
  lifetimes,
  setPriority,
  templates,
}: {
  sessions: SessionService
  lifetimes: LifetimeService
  setPriority: ReturnType<typeof createSetPriority>
  templates: SessionTemplates
}): Pick<Handlers, SessionRoutes> {
  return {
    whatIf: ({ caller }, { body }) => sessions.whatIf(caller, body),
    createSession: ({ caller, keyed }, { body }) => sessions.create(caller, body, keyed),
    listSessions: ({ caller }, { query }) => sessions.list(caller, query),
    getSession: ({ caller }, { params }) => sessions.get(caller, params.id),
    deleteSession: ({ caller }, { params }) => sessions.terminate(caller, params.id),
    extendSession: ({ caller }, { params, body }) => lifetimes.extend(caller, params.id, body.seconds),
    restartSession: ({ caller, keyed }, { params, body }) => sessions.restart(caller, params.id, body ?? {}, keyed),
    getSessionStats: ({ caller }, { params, query }) => lifetimes.stats(caller, params.id, query),
    setSessionPriority: ({ caller }, { params, body }) => setPriority(caller, params.id, body.priority),
    listSessionEvents: async ({ caller }, { params }) => ({ items: await sessions.events(caller, params.id) }),
    getSessionLogs: ({ caller }, { params, query }) => sessions.logs(caller, params.id, query),
    listSessionTemplates: async ({ caller }) => ({ items: await templates.list(caller) }),
    saveSessionTemplate: ({ caller }, { params, body }) => templates.save(caller, params.name, body),
    deleteSessionTemplate: ({ caller }, { params }) => templates.remove(caller, params.name),
    async getSshAccess({ caller, reply }, { params }) {
      void reply.header('cache-control', 'no-store')
      return sessions.sshAccess(caller, params.id)
    },
  }
}
