import { AppError, because, clusterRoles, KernelId, type Reason } from '#manager/contract'
import { holdMounts } from '../folders/hold-mounts.ts'
import { type Mount } from '../folders/mounts.ts'
import { holdResourceGroup } from '../store/identity/removal.ts'
import { noSuchResourceGroup } from '../store/missing.ts'
import { newId } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { type KeyedRequest } from '../store/operation/idempotency-keys.ts'
import { insertKernels } from '../store/sessions/kernels.ts'
import { insertSessionEvents } from '../store/sessions/session-events.ts'
import { insertSessions, type NewSession } from '../store/sessions/sessions.ts'
import { isForeignKeyViolation, isUniqueViolation } from '../store/violations.ts'

/** Facts that all of the new sessions share. */
export interface NewSessionFacts {
  readonly reason: Reason
  readonly actor: string
  readonly keyed?: KeyedRequest | undefined
  readonly mounts: readonly Mount[]
  /** Written in the same transaction. */
  readonly alongside?: (trx: Db) => Promise<void>
}

/**
 * Writes new sessions with their kernels and first events, all or none. Changes since the check of the request cause a constraint
 * violation, which is turned into the error of the check.
 *
 * @throws AppError `folder_not_found`, `resource_group_not_found`, `files_gone`, `group_not_found`, `session_name_taken`
 */
export async function writeNewSessions(
  store: Store,
  sessions: readonly NewSession[],
  { reason, actor, keyed, mounts, alongside }: NewSessionFacts,
): Promise<void> {
  try {
    await store.transaction(async trx => {
      const { resourceGroup } = sessions[0] ?? {}
      // The resource group may have been deleted since the request was admitted.
      if (resourceGroup !== undefined && !(await holdResourceGroup(trx, resourceGroup))) {
        throw noSuchResourceGroup(resourceGroup)
      }
      await insertSessions(trx, sessions)
      await insertKernels(
        trx,
        sessions.flatMap(({ id: sessionId, status, requested: slots, clusterSize }) =>
          clusterRoles(clusterSize).map(role => ({ id: newId(KernelId), sessionId, role, status, slots })),
        ),
      )
      await insertSessionEvents(
        trx,
        sessions.map(session => ({
          sessionId: session.id,
          kernelId: null,
          from: null,
          to: session.status,
          reason,
          actor,
        })),
      )
      const ids = sessions.map(({ id }) => id)
      await holdMounts(trx, ids, mounts)
      await keyed?.noteCreated(trx, ids)
      await alongside?.(trx)
    })
  } catch (error) {
    if (isUniqueViolation(error, 'sessions_files_of')) {
      throw new AppError('files_gone', because('files_taken_by_another'), { cause: error })
    }
    if (isForeignKeyViolation(error, 'sessions_group_id_fkey')) {
      throw new AppError('group_not_found', because('project_deleted_choose'), { cause: error })
    }
    if (!isUniqueViolation(error, 'sessions_live_name')) throw error
    const names = sessions.map(session => session.name)
    const [name = ''] = names
    const why =
      names.length === 1
        ? because('session_named', { name })
        : because('session_named_one_of', { names: names.map(each => `"${each}"`).join(', ') })
    throw new AppError('session_name_taken', { names, ...why }, { cause: error })
  }
}
