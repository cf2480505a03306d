import { type AgentId, type FolderId, isAppError, type KernelId, type SessionId } from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type MountsMemory } from '../scheduler/snapshot.ts'
import { type Store } from '../store/open-store.ts'
import { type KernelRow, listKernels } from '../store/sessions/kernels.ts'
import { type SessionFolderRow } from '../store/sessions/session-folders.ts'
import { toKernelFolder } from './kernel-spec.ts'

/** A running kernel and its agent. */
export type Place = { readonly kernelId: KernelId; readonly agentId: AgentId }

/** Mounts folders into running kernels. */
export interface FolderMounts {
  placesOf(id: SessionId): Promise<Place[]>
  /** Mounts in all kernels, or in none. If no answer comes, the record stays pending until the agent's next report. */
  mountInAll(places: readonly Place[], row: SessionFolderRow): Promise<void>
  /** @throws AppError `folder_busy` unless forced, `agent_unreachable` */
  unmountInAll(places: readonly Place[], folder: FolderId, force: boolean): Promise<void>
}

export interface FolderMountsDeps {
  readonly store: Pick<Store, 'db'>
  readonly agents: AgentRequests
  readonly presence: MountsMemory
}

/** A long limit, because the agent may first have to change the owner of all files of a folder. */
const HOW = { timeoutMs: 60_000 } as const

export function createFolderMounts({ store, agents, presence }: FolderMountsDeps): FolderMounts {
  async function mount({ agentId, kernelId }: Place, row: SessionFolderRow): Promise<void> {
    const folder = toKernelFolder(row)
    await agents.request(agentId, 'mount_folder', { kernelId, folder }, HOW)
    presence.noteMounted(agentId, kernelId, folder)
  }
  async function unmount({ agentId, kernelId }: Place, folder: FolderId, force: boolean): Promise<void> {
    await agents.request(agentId, 'unmount_folder', { kernelId, folder, force }, HOW)
    presence.noteUnmounted(agentId, kernelId, folder)
  }

  return {
    async placesOf(id) {
      return (await listKernels(store.db, [id])).flatMap(({ id: kernelId, agent_id: agentId, status }: KernelRow) =>
        agentId !== null && status === 'RUNNING' ? [{ kernelId, agentId }] : [],
      )
    },
    async mountInAll(places, row) {
      try {
        for (const place of places) await mount(place, row)
      } catch (error) {
        if (isUnanswered(error)) throw error
        for (const place of places) await unmount(place, row.folder_id, true).catch(() => undefined)
        throw error
      }
    },
    async unmountInAll(places, folder, force) {
      for (const place of places) await unmount(place, folder, force)
    },
  }
}

/** Whether the agent may have executed the request, or may still do so. */
export function isUnanswered(error: unknown): boolean {
  return !isAppError(error) || error.code === 'agent_unreachable'
}
