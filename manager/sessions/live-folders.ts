import { createKeyedMutex } from '#base/mutex'
import {
  AppError,
  because,
  type FolderId,
  type FolderMountSpec,
  isAutomount,
  MOST_FOLDERS,
  type Session,
  type SessionId,
} from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { holdAdded } from '../folders/hold-mounts.ts'
import { type Mount, refuseOverlap, resolveMounts } from '../folders/mounts.ts'
import { type Log } from '../log.ts'
import { type MountsMemory, type PlacingPresence } from '../scheduler/snapshot.ts'
import { type Db } from '../store/schema.ts'
import {
  deleteAdded,
  listRunningSessionsOf,
  listSessionFolders,
  readStorageOf,
  type SessionFolderRow,
  setPending,
} from '../store/sessions/session-folders.ts'
import { findSession, lockSession, type OwnedSessionRow } from '../store/sessions/sessions.ts'
import { touchSessions } from '../store/sessions/touches.ts'
import { holdFolders } from '../store/storage/folders.ts'
import { type Caller } from '../users/authorize.ts'
import { type ChangedMounts, whyFixed } from './added-folders.ts'
import { createFolderMounts, isUnanswered, type Place } from './folder-mounts.ts'
import { createFolderRecords, type FolderRecordsDeps, placeIn } from './folder-records.ts'
import { createFolderRepair } from './repair-folders.ts'
import { requireOwn } from './require-session.ts'

/**
 * Adds folders to running sessions and takes them out (docs/adr/0057), by the rules of a launch. The record is written before the mount and
 * deleted after it, so that a mounted folder is never in the trash. Steps left undone after a crash or a lost answer are completed when the
 * agent reports.
 */
export interface LiveFolders {
  /**
   * Safe to repeat.
   * @throws AppError `session_not_found`, `forbidden`, `session_not_running`, `session_folders_fixed`, `folder_path_taken`,
   *   `storage_away`, `agent_unreachable`, `session_share_refused`, and as `resolveMounts`
   */
  add(caller: Caller, id: SessionId, spec: FolderMountSpec): Promise<Session>
  /** @throws AppError `session_not_found`, `forbidden`, `session_not_running`, `folder_not_found`, `session_folders_fixed`, `folder_busy`, `agent_unreachable` */
  take(caller: Caller, id: SessionId, folderId: FolderId, force: boolean): Promise<Session>
  /** Repairs records and mounts after an agent has reported different mounts than before. Never rejects. */
  reported(changed: ChangedMounts): Promise<void>
}

export interface LiveFoldersDeps extends FolderRecordsDeps {
  readonly agents: AgentRequests
  readonly presence: MountsMemory & Pick<PlacingPresence, 'isReady' | 'storage'>
  readonly get: (caller: Caller, id: SessionId) => Promise<Session>
  readonly log: Log
}

export function createLiveFolders({ store, agents, presence, changes, get, log }: LiveFoldersDeps): LiveFolders {
  const mounts = createFolderMounts({ store, agents, presence })
  const records = createFolderRecords({ store, changes })
  const repair = createFolderRepair({ store, presence, mounts, records })
  /** Requests and repairs of a session come one after the other. */
  const inTurn = createKeyedMutex()

  /** @throws AppError `session_folders_fixed` */
  function requireOpen(places: readonly Place[]): void {
    const why = whyFixed(places.map(({ agentId, kernelId }) => presence.mounts(agentId, kernelId)))
    if (why) throw new AppError('session_folders_fixed', why)
  }

  return {
    async add(caller, id, spec) {
      const session = await requireOwn(store.db, caller, id, 'only_owner_changes_folders')
      requireRunning(session)
      const places = await mounts.placesOf(id)
      requireOpen(places)
      const asked = await resolveOne(store.db, caller, spec)
      await requireStorage(asked, places)
      return inTurn(id, async () => {
        await records.settle(id, async trx => {
          // Rights and names may have changed while the request waited; from now on the folder keeps its name.
          await holdFolders(trx, [asked.folderId])
          return hold(trx, id, await resolveOne(trx, caller, { ...spec, folder: asked.folderId }))
        })
        const row = await rowOf(store.db, id, asked.folderId)
        await mounts.mountInAll(places, row).catch(async (error: unknown) => {
          // A folder whose mount was confirmed before is kept: this was a repeated request.
          if (!isUnanswered(error) && row.pending === 'mount') await records.settle(id, trx => deleteAdded(trx, row))
          throw error
        })
        await records.confirm(row, caller.email)
        return get(caller, id)
      })
    },

    async take(caller, id, folderId, force) {
      const session = await requireOwn(store.db, caller, id, 'only_owner_changes_folders')
      requireRunning(session)
      const row = await rowOf(store.db, id, folderId)
      const places = await mounts.placesOf(id)
      return inTurn(id, async () => {
        await records.settle(id, trx => setPending(trx, row, 'unmount'))
        try {
          await mounts.unmountInAll(places, folderId, force)
        } catch (error) {
          if (isUnanswered(error)) throw error
          // Kernels without the folder mount it again.
          await mounts.mountInAll(places, row).catch(() => undefined)
          await records.keep(row)
          throw error
        }
        await records.forget(row, caller.email)
        return get(caller, id)
      })
    },

    async reported({ kernelIds, withFolders, turned }) {
      try {
        const shown = await listRunningSessionsOf(store.db, turned)
        changes.hint(await touchSessions(store.db, shown))
        for (const id of await listRunningSessionsOf(store.db, kernelIds, { also: withFolders })) {
          // Requests in flight go first. This report may be newer than their reply, so repair after them.
          const isBusy = inTurn.isBusy(id)
          const repaired = inTurn(id, () => repair(id)).catch(complain(id))
          if (!isBusy) await repaired
        }
      } catch (error) {
        log.warn({ err: error }, 'folders of running sessions could not be compared with the reports')
      }
    },
  }

  function complain(sessionId: SessionId) {
    return (error: unknown) => log.warn({ err: error, sessionId }, 'the folders of a running session differ for now')
  }

  /** @throws AppError `storage_away` */
  async function requireStorage({ folderId, path }: Mount, places: readonly Place[]): Promise<void> {
    const [storage] = await readStorageOf(store.db, [folderId])
    const isThere = storage && places.every(({ agentId }) => presence.storage(agentId).has(storage.marker))
    if (!isThere) throw new AppError('storage_away', because('storage_of_folder_away', { path }))
  }
}

/** The requested folder, with the caller's right to it. @throws AppError as `resolveMounts` */
async function resolveOne(db: Db, caller: Caller, spec: FolderMountSpec): Promise<Mount> {
  const [mount] = await resolveMounts(db, caller, { folders: [spec], automount: false })
  if (!mount) throw new Error(`no folder ${spec.folder}`)
  return mount
}

/** Records a folder that is about to be mounted. @returns whether the record is new @throws AppError */
async function hold(trx: Db, id: SessionId, wanted: Mount): Promise<boolean> {
  const session = await lockSession(trx, id)
  if (session?.status !== 'RUNNING') throw notRunning(id, session?.status ?? 'gone')
  const owned = await findSession(trx, id)
  const by = owned?.launched_by ?? null
  // In a session that somebody launched for its owner, a command chosen by that person may still run (`takesOwnThings`).
  if (by !== null && isAutomount(wanted.name)) {
    throw new AppError('session_folders_fixed', because('dot_folder_in_launched', { name: wanted.name, who: by }))
  }
  // Likewise an access token may enter a session that it launched, and its command may still run.
  if ((owned?.token_id ?? null) !== null && isAutomount(wanted.name)) {
    throw new AppError('session_folders_fixed', because('dot_folder_with_token', { name: wanted.name }))
  }
  // Programs of others may still run in a session that was shared.
  const wasUsed = (owned?.used_by_others_at ?? null) !== null
  if (wasUsed && isAutomount(wanted.name)) {
    throw new AppError('session_share_refused', because('session_used_by_others', { name: wanted.name }))
  }
  const rows = (await listSessionFolders(trx, [id])).get(id) ?? []
  const same = rows.find(row => row.added && row.folder_id === wanted.folderId)
  if (same) {
    if (same.path === wanted.path && same.read_only === wanted.readOnly && same.pending !== 'unmount') return false
    throw new AppError('bad_request', because('folder_in_session', placeIn(same)))
  }
  if (rows.length >= MOST_FOLDERS) {
    throw new AppError('bad_request', because('folders_in_session_at_most', { limit: MOST_FOLDERS }))
  }
  refuseOverlap([...rows.map(({ name, path }) => ({ name, path, automatic: false })), wanted])
  await holdAdded(trx, id, wanted)
  return true
}

/** A folder that was added. @throws AppError `folder_not_found`, `session_folders_fixed` (it came with the launch) */
async function rowOf(db: Db, id: SessionId, folderId: FolderId): Promise<SessionFolderRow> {
  const rows = ((await listSessionFolders(db, [id])).get(id) ?? []).filter(row => row.folder_id === folderId)
  const added = rows.find(row => row.added)
  if (added) return added
  const [fixed] = rows
  if (fixed) throw new AppError('session_folders_fixed', because('folder_from_launch', { name: fixed.name }))
  throw new AppError('folder_not_found', { folderId, ...because('folder_not_in_session') })
}

function requireRunning({ id, status }: OwnedSessionRow): void {
  if (status !== 'RUNNING') throw notRunning(id, status)
}

const notRunning = (sessionId: SessionId, status: string) =>
  new AppError('session_not_running', { sessionId, ...because('folders_of_running', { status }) })
