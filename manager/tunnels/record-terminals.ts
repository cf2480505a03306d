import { type SessionId } from '#manager/contract'
import { type Audit } from '../audit/recorder.ts'
import { type Log } from '../log.ts'
import { findOwner } from '../store/operation/audit-log.ts'
import { type Db } from '../store/schema.ts'
import { type Caller, tokenInLog } from '../users/authorize.ts'

/** A terminal that a member opens in a session of another user. */
export interface MemberTerminal {
  readonly caller: Pick<Caller, 'userId' | 'email' | 'keypair' | 'loginId' | 'scopes' | 'tokenName'>
  readonly sessionId: SessionId
  /** Name of the terminal within the session. */
  readonly name: string
  /** Role of its container; left out: the main one. */
  readonly kernel?: string
  /** Network address of the client. */
  readonly address: string
}

/**
 * Writes a row of the audit log for each terminal that a member opens in a shared session; for apps and SSH, the grant is recorded. The
 * owner's own terminals are not recorded, like everything else inside one's own session.
 * @returns a function that resolves when the row is committed, or after two seconds at most while retries continue; it never rejects
 */
export function createTerminalRecord({
  db,
  audit,
  log,
}: {
  readonly db: Db
  readonly audit: Audit
  readonly log: Log
}) {
  return async ({ caller, sessionId, name, kernel, address }: MemberTerminal): Promise<void> => {
    const target = `session:${sessionId}`
    const owner = await findOwner(db, target).catch((error: unknown) => {
      log.error({ err: error, action: 'openTerminal' }, 'a terminal was recorded without the owner of its session')
      return undefined
    })
    await audit.record({
      actor_id: caller.userId,
      actor: caller.email,
      ...tokenInLog(caller),
      acted_as: owner?.email ?? null,
      // As for requests: entries about a superadmin are hidden from the admins of the domain.
      domain: owner && owner.role !== 'superadmin' ? owner.domain : null,
      action: 'openTerminal',
      target,
      result: 'ok',
      detail: {
        terminal: name,
        ...(kernel === undefined ? {} : { kernel }),
        ...(caller.keypair === null ? {} : { keypair: caller.keypair }),
      },
      address,
    })
  }
}
