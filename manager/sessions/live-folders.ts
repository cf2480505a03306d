import { createKeyedMutex } from '#base/mutex'
import {
  type AgentId,
  AppError,
  because,
  type Because,
  type FolderId,
  type FolderMountSpec,
  isAppError,
  isAutomount,
  type KernelId,
  MOST_FOLDERS,
  type ReasonCode,
  reasonOf,
  type Session,
  SESSION_HOME,
  type SessionId,
} from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { holdAdded } from '../folders/hold-mounts.ts'
import { type Mount, refuseOverlap, resolveMounts } from '../folders/mounts.ts'
import { type Log } from '../log.ts'
import { type MountsMemory, type PlacingPresence } from '../scheduler/snapshot.ts'
import { type Db } from '../store/schema.ts'
import { type Store } from '../store/open-store.ts'
import { type KernelRow, listKernels } from '../store/sessions/kernels.ts'
import {
  deleteAdded,
  insertSessionFolders,
  listRunningSessionsOf,
  listSessionFolders,
  readStorageOf,
  type SessionFolderRow,
  setPending,
} from '../store/sessions/session-folders.ts'
import { insertSessionEvents } from '../store/sessions/session-events.ts'
import { findSession, lockSession, type OwnedSessionRow } from '../store/sessions/sessions.ts'
import { touchSessions } from '../store/sessions/touches.ts'
import { findFolder, holdFolders } from '../store/storage/folders.ts'
import { allows, permissionOf } from '../folders/access.ts'
import { type Caller } from '../users/authorize.ts'
import { type ChangedMounts, type Repair, repairsOf, whyFixed } from './added-folders.ts'
import { type SessionChanges } from './changes.ts'
import { requireOwn } from './require-session.ts'
import { toKernelFolder } from './kernel-spec.ts'

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

export interface LiveFoldersDeps {
  readonly store: Store
  readonly agents: AgentRequests
  readonly presence: MountsMemory & Pick<PlacingPresence, 'isReady' | 'storage'>
  readonly changes: Pick<SessionChanges, 'hint'>
  readonly get: (caller: Caller, id: SessionId) => Promise<Session>
  readonly log: Log
}

/** A long limit, because the agent may first have to change the owner of all files of a folder. */
const HOW = { timeoutMs: 60_000 } as const

type Place = { readonly kernelId: KernelId; readonly agentId: AgentId }

export function createLiveFolders({ store, agents, presence, changes, get, log }: LiveFoldersDeps): LiveFolders {
  /** Requests and repairs of a session come one after the other. */
  const inTurn = createKeyedMutex()

  async function placesOf(id: SessionId): Promise<Place[]> {
    return (await listKernels(store.db, [id])).flatMap(({ id: kernelId, agent_id: agentId, status }: KernelRow) =>
      agentId !== null && status === 'RUNNING' ? [{ kernelId, agentId }] : [],
    )
  }

  /** @throws AppError `session_folders_fixed` */
  function requireOpen(places: readonly Place[]): void {
    const why = whyFixed(places.map(({ agentId, kernelId }) => presence.mounts(agentId, kernelId)))
    if (why) throw new AppError('session_folders_fixed', why)
  }

  async function mount({ agentId, kernelId }: Place, row: SessionFolderRow): Promise<void> {
    const folder = toKernelFolder(row)
    await agents.request(agentId, 'mount_folder', { kernelId, folder }, HOW)
    presence.noteMounted(agentId, kernelId, folder)
  }
  async function unmount({ agentId, kernelId }: Place, folder: FolderId, force: boolean): Promise<void> {
    await agents.request(agentId, 'unmount_folder', { kernelId, folder, force }, HOW)
    presence.noteUnmounted(agentId, kernelId, folder)
  }

  /** Runs `change`; if it changed records, notifies the pages of the session. */
  async function settle(id: SessionId, change: (trx: Db) => Promise<boolean>): Promise<void> {
    const touched = await store.transaction(async trx => ((await change(trx)) ? touchSessions(trx, [id]) : []))
    changes.hint(touched)
  }

  const confirm = (row: SessionFolderRow, actor: string | null) =>
    settle(row.session_id, async trx => {
      if (!(await setPending(trx, row, null))) return false
      await tell(trx, row, { code: 'folder_added', because: because('folder_now_at', placeIn(row)), actor })
      return true
    })

  const forget = (row: SessionFolderRow, actor: string | null, why = because('folder_out_of', placeIn(row))) =>
    settle(row.session_id, async trx => {
      if (!(await deleteAdded(trx, row))) return false
      await tell(trx, row, { code: 'folder_taken_out', because: why, actor })
      return true
    })

  /** Mounts in all kernels, or in none. If no answer comes, the record stays pending until the agent's next report. */
  async function mountInAll(places: readonly Place[], row: SessionFolderRow): Promise<void> {
    try {
      for (const place of places) await mount(place, row)
    } catch (error) {
      if (isUnanswered(error)) throw error
      for (const place of places) await unmount(place, row.folder_id, true).catch(() => undefined)
      throw error
    }
  }

  async function repair(id: SessionId): Promise<void> {
    const session = await findSession(store.db, id)
    const places = await placesOf(id)
    const mounts = places.map(({ agentId, kernelId }) => presence.mounts(agentId, kernelId))
    const known = mounts.filter(one => one !== undefined)
    if (!session || known.length < places.length || places.length === 0) return
    const rows = (await listSessionFolders(store.db, [id])).get(id) ?? []
    for (const one of repairsOf(rows, known)) await carryOut(session, places, one)
  }

  async function carryOut(session: OwnedSessionRow, places: readonly Place[], { do: what, folder }: Repair) {
    switch (what) {
      case 'confirm':
        return confirm(folder, null)
      case 'forget':
        return forget(folder, null)
      case 'record':
        return record(session, folder)
      case 'unmount':
        try {
          for (const place of places) await unmount(place, folder.folder_id, false)
          await forget(folder, null)
        } catch (error) {
          if (!isUnanswered(error)) await keep(folder)
          throw error
        }
        return
      case 'mount':
        // The right may have been withdrawn while the agent was disconnected: an existing mount stays, a missing one is not restored.
        if (!(await mayStillMount(session, folder))) {
          return forget(folder, null, because('folder_right_withdrawn', { name: folder.name }))
        }
        try {
          await mountInAll(places, folder)
          await confirm(folder, null)
        } catch (error) {
          if (!isUnanswered(error)) await forget(folder, null, because('folder_not_mounted_again', placeIn(folder)))
          throw error
        }
    }
  }

  async function mayStillMount({ owner_id: userId }: OwnedSessionRow, mount: SessionFolderRow): Promise<boolean> {
    const folder = await findFolder(store.db, mount.folder_id, userId)
    if (!folder || folder.status !== 'ready' || folder.group_active === false) return false
    return allows(permissionOf({ userId }, folder), mount.read_only ? 'ro' : 'rw')
  }

  const keep = (row: SessionFolderRow) => settle(row.session_id, trx => setPending(trx, row, null))

  /** Records only folders that the owner may use: an agent could name any. */
  async function record(
    { id, owner_id }: OwnedSessionRow,
    { folder, path, readOnly }: Extract<Repair, { do: 'record' }>['folder'],
  ): Promise<void> {
    const row = await findFolder(store.db, folder, owner_id)
    if (!row || row.status === 'deleting' || permissionOf({ userId: owner_id }, row) === undefined) return
    await settle(id, async trx => {
      const others = (await listSessionFolders(trx, [id])).get(id) ?? []
      if (others.some(other => other.path === path || (other.added && other.folder_id === folder))) return false
      const added = { session_id: id, folder_id: folder, name: row.name, path, read_only: readOnly, added: true }
      await insertSessionFolders(trx, [added])
      return true
    })
  }

  return {
    async add(caller, id, spec) {
      const session = await requireOwn(store.db, caller, id, 'only_owner_changes_folders')
      requireRunning(session)
      const places = await placesOf(id)
      requireOpen(places)
      const asked = await resolveOne(store.db, caller, spec)
      await requireStorage(asked, places)
      return inTurn(id, async () => {
        await settle(id, async trx => {
          // Rights and names may have changed while the request waited; from now on the folder keeps its name.
          await holdFolders(trx, [asked.folderId])
          return hold(trx, id, await resolveOne(trx, caller, { ...spec, folder: asked.folderId }))
        })
        const row = await rowOf(store.db, id, asked.folderId)
        await mountInAll(places, row).catch(async (error: unknown) => {
          // A folder whose mount was confirmed before is kept: this was a repeated request.
          if (!isUnanswered(error) && row.pending === 'mount') await settle(id, trx => deleteAdded(trx, row))
          throw error
        })
        await confirm(row, caller.email)
        return get(caller, id)
      })
    },

    async take(caller, id, folderId, force) {
      const session = await requireOwn(store.db, caller, id, 'only_owner_changes_folders')
      requireRunning(session)
      const row = await rowOf(store.db, id, folderId)
      const places = await placesOf(id)
      return inTurn(id, async () => {
        await settle(id, trx => setPending(trx, row, 'unmount'))
        try {
          for (const place of places) await unmount(place, folderId, force)
        } catch (error) {
          if (isUnanswered(error)) throw error
          // Kernels without the folder mount it again.
          await mountInAll(places, row).catch(() => undefined)
          await keep(row)
          throw error
        }
        await forget(row, caller.email)
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

const placeIn = ({ name, path }: Pick<SessionFolderRow, 'name' | 'path'>) => ({ name, path: `${SESSION_HOME}/${path}` })

/** Whether the agent may have executed the request, or may still do so. */
function isUnanswered(error: unknown): boolean {
  return !isAppError(error) || error.code === 'agent_unreachable'
}

function tell(
  trx: Db,
  { session_id: sessionId }: Pick<SessionFolderRow, 'session_id'>,
  { code, because: why, actor }: { code: ReasonCode; because: Because; actor: string | null },
): Promise<void> {
  const reason = reasonOf(code, why)
  return insertSessionEvents(trx, [{ sessionId, kernelId: null, from: 'RUNNING', to: 'RUNNING', reason, actor }])
}
