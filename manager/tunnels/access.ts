import { type IncomingMessage } from 'node:http'
import {
  type AgentId,
  AppError,
  because,
  forwardedPort,
  GRANT_HEADER,
  type KernelId,
  type SessionId,
  type SessionPermission,
  type SessionStatus,
  type UserId,
} from '#manager/contract'
import { type Caller, canEnter, canSee, isOfToken } from '../users/authorize.ts'
import { type TunnelOwner } from './activity.ts'
import { type Target } from './target.ts'

/** Location of a session, with the fields that the gateway needs. */
export interface TunnelPlace {
  readonly agentId: AgentId | null
  readonly kernelId: KernelId | null
  /** All kernels of the session, by their roles; left out: it has only this one. */
  readonly kernels?: ReadonlyMap<string, { readonly agentId: AgentId; readonly kernelId: KernelId }> | undefined
  readonly status: SessionStatus
  readonly apps: readonly { readonly name: string }[]
  readonly ownerId: UserId
  readonly domain: string
  readonly shares?: Readonly<Record<UserId, SessionPermission>> | null
  readonly tokenId?: string | null
}

/** A signed-in user, with the sign-in or access key whose end also ends the tunnel. */
export type TunnelCaller = Pick<Caller, 'userId' | 'email' | 'role' | 'domain' | 'keypair' | 'scopes' | 'tokenName'> & {
  readonly loginId: string
}

/** The user of a tunnel, with the credential with which it was opened. */
export type TunnelUser = Pick<TunnelOwner, 'loginId' | 'userId' | 'shared'>
/** An admitted `TunnelUser`, with the caller if a sign-in or a signature was checked instead of a grant. */
export type AdmittedUser = TunnelUser & { readonly isPublic: boolean; readonly caller?: TunnelCaller }

export interface TunnelAccessDeps {
  /** @throws AppError `session_not_found` */
  readonly locate: (sessionId: SessionId) => Promise<TunnelPlace>
  /** Usually answered from memory, as it runs for every connection. @throws AppError `grant_invalid` */
  readonly verifyGrant: (
    grant: string,
    sessionId: SessionId,
    app: string,
  ) => Promise<{ readonly loginId: string; readonly userId: UserId; readonly isPublic: boolean }>
  /** Authenticates by cookie (with a strict Origin), bearer token or signature. @throws AppError `not_signed_in`, those of signatures */
  readonly authenticateUpgrade: (request: IncomingMessage) => Promise<TunnelCaller>
  /** Whether the credential behind a tunnel (a sign-in or a keypair) is still valid, according to the database. */
  readonly isCredentialValid: (loginId: string) => Promise<boolean>
}

/** Rules about who may open a tunnel; the threat model is in `gateway.ts`. */
export interface TunnelAccess {
  /** Finds the session. A client without a right to it must first send credentials, whether the session exists or not. */
  locate(request: IncomingMessage, target: Target): Promise<TunnelPlace>
  /** @throws AppError `session_not_found`, `forbidden`, `grant_invalid`, those of signing in */
  authorize(request: IncomingMessage, target: Target, location: TunnelPlace): Promise<AdmittedUser>
  /**
   * Re-checks an admitted request: its session, the right of its user, and its grant or credential. The request is not
   * authenticated again: a signature is single-use.
   */
  readmit(request: IncomingMessage, target: Target, user: TunnelUser): Promise<void>
}

export function createTunnelAccess(deps: TunnelAccessDeps): TunnelAccess {
  return {
    async locate(request, target) {
      try {
        return await deps.locate(target.sessionId)
      } catch (error) {
        if (typeof request.headers[GRANT_HEADER] === 'string') throw new AppError('grant_invalid', {}, { cause: error })
        await deps.authenticateUpgrade(request)
        throw error
      }
    },
    async authorize(request, target, location) {
      const grant = grantOf(request, target)
      if (grant !== undefined) {
        const { loginId, userId, isPublic } = await deps.verifyGrant(grant.text, target.sessionId, grant.app)
        return { loginId, userId, shared: userId !== location.ownerId, isPublic }
      }
      const caller = await deps.authenticateUpgrade(request)
      const { loginId, userId } = caller
      if (canEnter(caller, location) && isOfToken(caller, location)) {
        return { loginId, userId, shared: userId !== location.ownerId, isPublic: false, caller }
      }
      if (!canSee(caller, location)) throw new AppError('session_not_found')
      throw notAllowed()
    },
    async readmit(request, target, { loginId, userId }) {
      const location = await deps.locate(target.sessionId)
      placeOf(location, target)
      if (!canEnter({ userId }, location)) throw notAllowed()
      const grant = grantOf(request, target)
      if (grant !== undefined) await deps.verifyGrant(grant.text, target.sessionId, grant.app)
      else if (!(await deps.isCredentialValid(loginId)))
        throw new AppError('not_signed_in', because('session_just_ended'))
    },
  }
}

/** Whether a session has an app or port of this name. */
export function offers({ apps }: TunnelPlace, name: string): boolean {
  return forwardedPort(name) !== undefined || apps.some(app => app.name === name)
}

/**
 * Agent and kernel of a target. Terminals may be in any container of the session, everything else is in the main one.
 *
 * @throws AppError `session_not_running`, `kernel_not_found`
 */
export function placeOf({ status, agentId, kernelId, kernels }: TunnelPlace, target: Target) {
  if (status !== 'RUNNING' || !agentId || !kernelId) throw new AppError('session_not_running', { status })
  if (target.kind !== 'terminal' || target.kernel === undefined) return { agentId, kernelId }
  const place = kernels?.get(target.kernel)
  if (!place) throw new AppError('kernel_not_found', because('kernel_unknown', { kernel: target.kernel }))
  return place
}

function notAllowed(): AppError {
  return new AppError('forbidden', because('only_members_connect'))
}

/** The grant in the request's header; grants apply to apps only. */
function grantOf({ headers }: IncomingMessage, target: Target): { text: string; app: string } | undefined {
  const text = headers[GRANT_HEADER]
  return typeof text === 'string' && target.kind === 'app' ? { text, app: target.app } : undefined
}
