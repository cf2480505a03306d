import { AgentId, AppError } from '#manager/contract'
import { type AuditRecorder } from '../audit/recorder.ts'
import { type Log } from '../log.ts'
import { type Store } from '../store/open-store.ts'
import { firstAdminId } from '../users/first-admin.ts'
import { type AccountsPart } from './accounts-part.ts'
import { type SessionsPart } from './sessions-part.ts'

/** Requests of the parent process. It started this manager, so it needs no sign-in. */
export interface ParentRequests {
  /** Ticket for signing in on this machine as `admin@localhost`: single-use, valid for ten minutes. */
  createSignInTicket(): Promise<{ ticket: string }>
  /** Join string for an agent: single-use, valid for fifteen minutes. */
  createJoinToken(): Promise<{ join: string }>
  /**
   * Like `createJoinToken`, for the agent of this computer whose data directory is lost, e.g. after a restore into a new one. @throws
   * AppError `agent_not_found` if it is no agent of this manager, `agent_running_elsewhere` if it is connected
   */
  createReplaceToken(agentId: string): Promise<{ join: string }>
  /** Ends all sign-ins of browsers, because another program may have had the console's port. */
  endBrowserSignIns(): Promise<void>
}

export interface ParentRequestsDeps {
  readonly store: Store
  readonly logins: AccountsPart['logins']
  readonly agentService: SessionsPart['agentService']
  readonly agents: Pick<SessionsPart['agents'], 'isConnected'>
  readonly audit: AuditRecorder
  readonly log: Log
}

export function createParentRequests(deps: ParentRequestsDeps): ParentRequests {
  const { store, logins, agentService, agents, audit, log } = deps
  return {
    async createJoinToken() {
      const made = await agentService.createJoinToken({ resourceGroup: 'default', madeBy: null })
      await audit.record({ action: 'createJoinToken', result: 'ok', detail: { resourceGroup: 'default' } })
      return made
    },
    async createReplaceToken(id) {
      const { data: replaces } = AgentId.safeParse(id)
      if (!replaces) throw new AppError('agent_not_found', { agentId: id })
      if (agents.isConnected(replaces)) throw new AppError('agent_running_elsewhere', { agentId: replaces })
      const resourceGroup = 'default' // ignored: the group of the replaced agent is used
      const made = await agentService.createJoinToken({ resourceGroup, madeBy: null, replaces })
      await audit.record({ action: 'createJoinToken', result: 'ok', detail: { replaces } })
      return made
    },
    async endBrowserSignIns() {
      const count = await logins.endBrowsers()
      if (count > 0) log.info({ count }, 'the sign-ins of browsers have ended with the start of Berth')
    },
    async createSignInTicket() {
      const userId = await firstAdminId(store)
      const ticket = await logins.createTicket(userId)
      await audit.record({ action: 'createSignInTicket', target: `user:${userId}`, result: 'ok' })
      return { ticket }
    },
  }
}
