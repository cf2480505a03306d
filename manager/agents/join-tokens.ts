import { randomBytes } from 'node:crypto'
import { AgentId, AppError, because, type RouteReply } from '#manager/contract'
import { requireResourceGroup } from '../quotas/require-resource-group.ts'
import {
  deleteJoinToken,
  findAgent,
  findJoinToken,
  findOpenJoinToken,
  insertJoinToken,
  type JoinTokenMaker,
  listOpenJoinTokens,
} from '../store/agents/agents.ts'
import { noSuchAgent } from '../store/missing.ts'
import { newId } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { hashToken } from '../users/secrets.ts'
import { type HostInvitation, hostLine, requireSafeAddress } from './host-line.ts'

/** Tokens with which hosts join. */
export interface JoinTokens {
  /**
   * @param replaces the agent that the new agent replaces; the new one stays in the same resource group
   * @throws `resource_group_not_found`, `agent_not_found`
   */
  createJoinToken(options: {
    resourceGroup: string
    madeBy: JoinTokenMaker | null
    replaces?: AgentId | undefined
  }): Promise<JoinToken>
  /** Tokens with which hosts may still join, newest first. */
  openJoinTokens(): Promise<RouteReply<'listJoinTokens'>>
  /** Withdraws a token that nobody has used. @param id as `createJoinToken` returned it @throws `not_found` */
  withdrawJoinToken(id: string): Promise<void>
  /** The invitation of a host that shows the token of a join string. @throws `join_token_invalid`, `config_invalid` (an address without TLS) */
  invitation(token: string): Promise<HostInvitation>
  /** @param id as `createJoinToken` returned it @throws `not_found` */
  joinToken(id: string): Promise<RouteReply<'getJoinToken'>>
}

export interface JoinToken {
  /** Identifies the token without revealing its secret. */
  readonly id: string
  readonly token: string
  /** All data that an agent needs: `berth-join:` and base64url of `{url, token, managerKey, agentId}`. */
  readonly join: string
  /** Address at which the host must reach this manager. */
  readonly url: string
  /** Line for a shell on the host (`host-line.ts`). */
  readonly command: string
  readonly expiresAt: string
}

export interface JoinTokensDeps {
  readonly store: Store
  /** URL at which agents reach this manager. */
  readonly url: () => string
  /** Fingerprint of the TLS key that agents pin for an address; undefined if a public authority certifies it. */
  readonly tlsKeyFor: (url: string) => Promise<string | undefined>
  /** Fingerprint of the key with which managers authenticate; agents pin it when they join. */
  readonly keyFingerprint: string
}

const TOKEN_LIFETIME_MS = 15 * 60_000

export function createJoinTokens({ store, url: urlNow, tlsKeyFor, keyFingerprint }: JoinTokensDeps): JoinTokens {
  /** @param agentId id for the agent that joins; null for a token of a manager that made none */
  async function invite(token: string, agentId: AgentId | null, replaces: AgentId | null): Promise<HostInvitation> {
    const url = urlNow()
    const fingerprint = await tlsKeyFor(url)
    const managerKey = keyFingerprint
    const ids = { agentId: agentId ?? undefined, replaces: replaces ?? undefined }
    const text = JSON.stringify({ url, token, fingerprint, managerKey, ...ids })
    const join = `berth-join:${Buffer.from(text).toString('base64url')}`
    return { url, token, join, fingerprint, replaces: replaces !== null }
  }

  return {
    async createJoinToken({ madeBy, replaces, ...wanted }) {
      // The agent of this computer, for which nobody asked, is told another address.
      if (madeBy !== null) requireSafeAddress(urlNow())
      const old = replaces && (await findAgent(store.db, replaces))
      if (replaces && (!old || old.status === 'REVOKED')) throw noSuchAgent(replaces)
      const resourceGroup = old?.resource_group ?? wanted.resourceGroup
      await requireResourceGroup(store.db, resourceGroup)
      const token = randomBytes(32).toString('base64url')
      const tokenHash = hashToken(token)
      const lifetimeMs = TOKEN_LIFETIME_MS
      const agentId = replaces ?? newId(AgentId)
      const made = { tokenHash, resourceGroup, madeBy, lifetimeMs, agentId, replaces }
      const expiresAt = await insertJoinToken(store.db, made)
      const invitation = await invite(token, agentId, replaces ?? null)
      const { join, url } = invitation
      const command = hostLine(invitation)
      return { id: tokenHash.toString('hex'), token, join, url, command, expiresAt: expiresAt.toISOString() }
    },
    async invitation(token) {
      const found = await findOpenJoinToken(store.db, hashToken(token))
      if (!found) throw new AppError('join_token_invalid', because('host_line_over'))
      requireSafeAddress(urlNow())
      return invite(token, found.agentId, found.replaces)
    },
    async joinToken(id) {
      const found = await findJoinToken(store.db, Buffer.from(id, 'hex'))
      if (!found) throw new AppError('not_found', because('join_string_gone'))
      return { expiresAt: found.expiresAt.toISOString(), agent: found.agent }
    },
    async openJoinTokens() {
      const tokens = await listOpenJoinTokens(store.db)
      const items = tokens.map(({ tokenHash, createdAt, expiresAt, entitled, ...token }) => ({
        ...token,
        id: tokenHash.toString('hex'),
        status: entitled ? ('open' as const) : ('ended' as const),
        createdAt: createdAt.toISOString(),
        expiresAt: expiresAt.toISOString(),
      }))
      return { items }
    },
    async withdrawJoinToken(id) {
      if (!(await deleteJoinToken(store.db, Buffer.from(id, 'hex'))))
        throw new AppError('not_found', because('join_string_gone'))
    },
  }
}
