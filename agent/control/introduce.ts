import { defined } from '#base/defined'
import { AppError, type ManagerId } from '#manager/contract'
import { type Identity } from './identity.ts'
import { type JoinInvitation } from './join-string.ts'
import { type Accepted, type Introduction } from './manager-link.ts'
import { checkManagerProof } from './manager-proof.ts'

/** The agent's right to join, shared by its connections: the first manager that accepts the agent uses it up. */
export interface Joining {
  invitation: JoinInvitation | undefined
  /** True if the manager has forgotten this agent; with an invitation it may join again. */
  isForgotten: boolean
}

export interface IntroduceDeps {
  readonly identity: Identity
  readonly name: string
  /** Id of this run of the agent. */
  readonly instance: string
  readonly joining: Joining
  /** Whether the manager was announced by another one: the agent never joins such a manager. */
  readonly asOther: boolean
  /** @throws `engine_already_managed` */
  readonly claim: (managerId: ManagerId) => Promise<void>
}

/**
 * Checks the proof of the manager, then joins it or proves to be the agent that it knows.
 *
 * @throws AppError `forbidden`, `unavailable` (a stranger answers), `agent_revoked`, `engine_already_managed`
 */
export async function introduce(hello: Introduction, deps: IntroduceDeps): Promise<Accepted> {
  const { challenge, where, agentNonce } = hello
  const { identity, joining, asOther } = deps
  const { invitation } = joining
  const { managerId, nonce, proof } = challenge
  const known = identity.manager?.managerId === managerId
  const pinned = invitation?.managerKey ?? (known || asOther ? identity.manager?.managerKey : undefined)
  const managerKey = checkManagerProof({ proof, agentNonce, nonce, managerId, pinned })
  if (asOther && !known)
    throw new AppError('forbidden', { why: `${where.url} is a manager that this agent has not joined.` })
  if (!known && !invitation && identity.manager?.managerKey !== undefined) {
    // A stranger may have taken the port while the manager is away, so keep trying.
    throw new AppError('unavailable', {
      why: `${where.url} is not the manager this agent joined. If the manager was set up anew, join with a new join string.`,
    })
  }
  if ((!known || joining.isForgotten) && !invitation) {
    throw new AppError('agent_revoked', {
      why: `${where.url} is not the manager this agent joined. Join with a new join string.`,
    })
  }
  await deps.claim(managerId)
  const signature = identity.sign(nonce, managerId)
  const join = asOther || (known && !joining.isForgotten) ? undefined : invitation
  const { agentId, publicKey } = identity
  hello.send(
    join
      ? { type: 'join', token: join.token, agentId, name: deps.name, publicKey, signature, instance: deps.instance }
      : { type: 'prove', agentId, signature, instance: deps.instance },
  )
  const welcome = await hello.welcome()
  if (!asOther) {
    if (join && welcome.containers) identity.inherit(welcome.containers)
    const before = identity.manager
    if (join || before?.url !== where.url || before.managerKey !== managerKey) {
      const { url, fingerprint } = where
      const urls = known ? before?.urls : undefined
      await identity.remember({
        managerId,
        url,
        ...defined({ fingerprint, managerKey, urls }),
      })
    }
    joining.invitation = undefined
    joining.isForgotten = false
  }
  return { welcome, proven: managerKey !== undefined }
}
