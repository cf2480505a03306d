import { because, type SessionId } from '#manager/contract'
import { type MountsMemory } from '../scheduler/snapshot.ts'
import { type Store } from '../store/open-store.ts'
import { insertSessionFolders, listSessionFolders, type SessionFolderRow } from '../store/sessions/session-folders.ts'
import { findSession, type OwnedSessionRow } from '../store/sessions/sessions.ts'
import { findFolder } from '../store/storage/folders.ts'
import { allows, permissionOf } from '../folders/access.ts'
import { type Repair, repairsOf } from './added-folders.ts'
import { type FolderMounts, isUnanswered, type Place } from './folder-mounts.ts'
import { type FolderRecords, placeIn } from './folder-records.ts'

/** Parts with which folders of running sessions are repaired. */
export interface RepairDeps {
  readonly store: Store
  readonly presence: Pick<MountsMemory, 'mounts'>
  readonly mounts: FolderMounts
  readonly records: FolderRecords
}

/** Repairs records and mounts of a session after a crash, a lost answer or a change on the host. */
export function createFolderRepair({ store, presence, mounts, records }: RepairDeps): (id: SessionId) => Promise<void> {
  async function carryOut(session: OwnedSessionRow, places: readonly Place[], { do: what, folder }: Repair) {
    switch (what) {
      case 'confirm':
        return records.confirm(folder, null)
      case 'forget':
        return records.forget(folder, null)
      case 'record':
        return record(session, folder)
      case 'unmount':
        try {
          await mounts.unmountInAll(places, folder.folder_id, false)
          await records.forget(folder, null)
        } catch (error) {
          if (!isUnanswered(error)) await records.keep(folder)
          throw error
        }
        return
      case 'mount':
        // The right may have been withdrawn while the agent was disconnected: an existing mount stays, a missing one is not restored.
        if (!(await mayStillMount(session, folder))) {
          return records.forget(folder, null, because('folder_right_withdrawn', { name: folder.name }))
        }
        try {
          await mounts.mountInAll(places, folder)
          await records.confirm(folder, null)
        } catch (error) {
          if (!isUnanswered(error))
            await records.forget(folder, null, because('folder_not_mounted_again', placeIn(folder)))
          throw error
        }
    }
  }

  async function mayStillMount({ owner_id: userId }: OwnedSessionRow, mount: SessionFolderRow): Promise<boolean> {
    const folder = await findFolder(store.db, mount.folder_id, userId)
    if (!folder || folder.status !== 'ready' || folder.group_active === false) return false
    return allows(permissionOf({ userId }, folder), mount.read_only ? 'ro' : 'rw')
  }

  /** Records only folders that the owner may use: an agent could name any. */
  async function record(
    { id, owner_id }: OwnedSessionRow,
    { folder, path, readOnly }: Extract<Repair, { do: 'record' }>['folder'],
  ): Promise<void> {
    const row = await findFolder(store.db, folder, owner_id)
    if (!row || row.status === 'deleting' || permissionOf({ userId: owner_id }, row) === undefined) return
    await records.settle(id, async trx => {
      const others = (await listSessionFolders(trx, [id])).get(id) ?? []
      if (others.some(other => other.path === path || (other.added && other.folder_id === folder))) return false
      const added = { session_id: id, folder_id: folder, name: row.name, path, read_only: readOnly, added: true }
      await insertSessionFolders(trx, [added])
      return true
    })
  }

  return async id => {
    const session = await findSession(store.db, id)
    const places = await mounts.placesOf(id)
    const reported = places.map(({ agentId, kernelId }) => presence.mounts(agentId, kernelId))
    const known = reported.filter(one => one !== undefined)
    if (!session || known.length < places.length || places.length === 0) return
    const rows = (await listSessionFolders(store.db, [id])).get(id) ?? []
    for (const one of repairsOf(rows, known)) await carryOut(session, places, one)
  }
}
