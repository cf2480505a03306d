import { defined } from '#base/defined'
import { type CommandState } from '#agent/contract'
import { type AgentId, isAppError, type UserId } from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type Log } from '../log.ts'
import { listAgents } from '../store/agents/agents.ts'
import { listActiveRoles } from '../store/identity/users.ts'
import { type Store } from '../store/open-store.ts'
import { findSession, ownedOf } from '../store/sessions/sessions.ts'
import { canEnter } from '../users/authorize.ts'

/** Ends commands of people who have lost the right to them. */
export interface CommandsOfLostRights {
  /** Ends the commands of a person, or of all (undefined), in sessions that they may not use any more. Never rejects. */
  checkRights(userId?: UserId): Promise<void>
  /** The same for those of these people whose accounts were deactivated; null: those of anybody. Never rejects. */
  checkAccounts(userIds: ReadonlySet<UserId> | null): Promise<void>
  /** The same for all commands of an agent: rights may have been withdrawn while it had no connection. Never rejects. */
  checkAgent(agentId: AgentId): Promise<void>
}

export interface CommandsOfLostRightsDeps {
  readonly store: Pick<Store, 'db'>
  readonly agents: AgentRequests
  readonly isConnected: (agentId: AgentId) => boolean
  readonly log: Log
}

const AGENT_TIMEOUT_MS = 15_000
const UNCHECKED = 'commands were not checked after a change of rights'

export function createCommandsOfLostRights({
  store: { db },
  agents,
  isConnected,
  log,
}: CommandsOfLostRightsDeps): CommandsOfLostRights {
  async function endIfLost(
    agentId: AgentId,
    { id, sessionId, userId }: CommandState,
    active: { has(userId: UserId): boolean },
  ): Promise<void> {
    const session = await findSession(db, sessionId)
    if (active.has(userId) && session && canEnter({ userId }, ownedOf(session))) return
    await agents.request(
      agentId,
      'end_command',
      { sessionId, commandId: id },
      { timeoutMs: AGENT_TIMEOUT_MS, patient: true },
    )
    log.info({ sessionId, userId }, 'a command was ended, because its user may not use the session any more')
  }

  async function check(agentId: AgentId, userId?: UserId): Promise<void> {
    try {
      const { commands } = await agents.request(agentId, 'list_commands', defined({ userId }), {
        timeoutMs: AGENT_TIMEOUT_MS,
      })
      const running = commands.filter(({ end }) => end === null)
      const active = await listActiveRoles(db, [...new Set(running.map(command => command.userId))])
      for (const command of running) await endIfLost(agentId, command, active)
    } catch (error) {
      // An agent of an earlier version has no commands. One that has gone is asked when it comes back.
      if (isAppError(error) && (error.code === 'agent_failed' || error.code === 'agent_unreachable')) return
      log.warn({ err: error, agentId, userId }, UNCHECKED)
    }
  }

  async function checkRights(userId?: UserId): Promise<void> {
    try {
      const connected = (await listAgents(db)).filter(({ id }) => isConnected(id))
      await Promise.all(connected.map(({ id }) => check(id, userId)))
    } catch (error) {
      log.error({ err: error, userId }, UNCHECKED)
    }
  }

  return {
    checkRights,
    async checkAccounts(userIds) {
      if (userIds === null) {
        await checkRights()
        return
      }
      try {
        // Most changes deactivate nobody, and no agent is asked then.
        const active = await listActiveRoles(db, [...userIds])
        const [first, ...others] = [...userIds].filter(id => !active.has(id))
        if (first !== undefined) await checkRights(others.length === 0 ? first : undefined)
      } catch (error) {
        log.error({ err: error }, UNCHECKED)
      }
    },
    checkAgent: agentId => check(agentId),
  }
}
