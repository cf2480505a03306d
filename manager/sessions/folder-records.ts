import { because, type Because, type ReasonCode, reasonOf, SESSION_HOME, type SessionId } from '#manager/contract'
import { type Db } from '../store/schema.ts'
import { type Store } from '../store/open-store.ts'
import { deleteAdded, type SessionFolderRow, setPending } from '../store/sessions/session-folders.ts'
import { insertSessionEvents } from '../store/sessions/session-events.ts'
import { touchSessions } from '../store/sessions/touches.ts'
import { type SessionChanges } from './changes.ts'

/** Records of the folders that were added to running sessions. Each change is told to the pages of the session. */
export interface FolderRecords {
  /** Runs `change`; if it changed records, notifies the pages of the session. */
  settle(id: SessionId, change: (trx: Db) => Promise<boolean>): Promise<void>
  /** The folder is mounted in all kernels. @param actor null: Berth itself */
  confirm(row: SessionFolderRow, actor: string | null): Promise<void>
  /** The folder is mounted in no kernel. */
  forget(row: SessionFolderRow, actor: string | null, why?: Because): Promise<void>
  /** The folder stays as it was before a request that failed. */
  keep(row: SessionFolderRow): Promise<void>
}

export interface FolderRecordsDeps {
  readonly store: Store
  readonly changes: Pick<SessionChanges, 'hint'>
}

export function createFolderRecords({ store, changes }: FolderRecordsDeps): FolderRecords {
  async function settle(id: SessionId, change: (trx: Db) => Promise<boolean>): Promise<void> {
    const touched = await store.transaction(async trx => ((await change(trx)) ? touchSessions(trx, [id]) : []))
    changes.hint(touched)
  }

  return {
    settle,
    confirm: (row, actor) =>
      settle(row.session_id, async trx => {
        if (!(await setPending(trx, row, null))) return false
        await tell(trx, row, { code: 'folder_added', because: because('folder_now_at', placeIn(row)), actor })
        return true
      }),
    forget: (row, actor, why = because('folder_out_of', placeIn(row))) =>
      settle(row.session_id, async trx => {
        if (!(await deleteAdded(trx, row))) return false
        await tell(trx, row, { code: 'folder_taken_out', because: why, actor })
        return true
      }),
    keep: row => settle(row.session_id, trx => setPending(trx, row, null)),
  }
}

/** Name and path of a folder, for reasons. */
export const placeIn = ({ name, path }: Pick<SessionFolderRow, 'name' | 'path'>) => ({
  name,
  path: `${SESSION_HOME}/${path}`,
})

function tell(
  trx: Db,
  { session_id: sessionId }: Pick<SessionFolderRow, 'session_id'>,
  { code, because: why, actor }: { code: ReasonCode; because: Because; actor: string | null },
): Promise<void> {
  const reason = reasonOf(code, why)
  return insertSessionEvents(trx, [{ sessionId, kernelId: null, from: 'RUNNING', to: 'RUNNING', reason, actor }])
}
