import { type CompatRoute } from '../route.ts'

/**
 * Version of the API that Berth speaks. A client takes the smaller one of this and its own: this is the one with which the fewest versions
 * of the client print a warning.
 */
export const API_VERSION = 'v8.20240315'
/** Version of the manager whose answers these are. Clients only print it. */
const MANAGER_VERSION = '24.03.0'

const version = () => Promise.resolve({ version: API_VERSION, manager: MANAGER_VERSION })

/** Requests that each command of a client sends first. */
export const HANDSHAKE_ROUTES: readonly CompatRoute[] = [
  { method: 'GET', path: '/', open: true, handle: version },
  {
    method: 'GET',
    path: '/manager/announcement',
    async handle({ api }) {
      const { text, dismissed } = await api.getAnnouncement()
      return { enabled: text !== null && !dismissed, message: text ?? '' }
    },
  },
  {
    method: 'GET',
    path: '/auth',
    handle: ({ request }) =>
      Promise.resolve({ authorized: 'yes', echo: (request.query as { echo?: string }).echo ?? '' }),
  },
  {
    method: 'GET',
    path: '/auth/role',
    async handle({ api }) {
      const { user } = await api.me()
      const isAdmin = user.role === 'superadmin'
      return {
        global_role: isAdmin ? 'superadmin' : 'user',
        domain_role: user.role === 'user' ? 'user' : 'admin',
        group_role: null,
      }
    },
  },
  {
    method: 'GET',
    path: '/manager/status',
    async handle({ api }) {
      await api.me()
      return { status: 'running', active_sessions: 0, manager_status: 'running', nodes: [] }
    },
  },
]
