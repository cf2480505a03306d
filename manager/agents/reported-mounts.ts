import { isDeepStrictEqual } from 'node:util'
import { type KernelFolder, type KernelReport } from '#agent/contract'
import { type FolderId, type KernelId } from '#manager/contract'
import { type ChangedMounts } from '../sessions/added-folders.ts'
import { type AgentMemory } from './agent-memory.ts'

/**
 * Remembers the folders that were added to running kernels.
 *
 * @param complete whether the agent reports all its kernels
 */
export function noteMounts(
  memory: Pick<AgentMemory, 'mounts'>,
  reported: readonly KernelReport[],
  complete: boolean,
): ChangedMounts {
  const before = memory.mounts
  const told = new Map(reported.flatMap(({ kernelId, mounts }) => (mounts ? [[kernelId, mounts] as const] : [])))
  memory.mounts = complete ? told : new Map([...before, ...told])
  const changed = [...told].filter(([id, mounts]) => !isDeepStrictEqual(before.get(id), mounts))
  const idsOf = (of: typeof changed) => of.map(([id]) => id)
  return {
    kernelIds: idsOf(changed),
    withFolders: idsOf(changed.filter(([, { folders }]) => folders.length > 0)),
    turned: idsOf(changed.filter(([id, { closed }]) => before.has(id) && before.get(id)?.closed !== closed)),
  }
}

type Folders = readonly KernelFolder[]

/**
 * Remembers the agent's reply that the folder is mounted in the kernel now, so that a loss before the next report counts as a change. If
 * the agent has not reported about the kernel, its mounts stay unknown.
 */
export function noteMounted(memory: Pick<AgentMemory, 'mounts'>, kernelId: KernelId, folder: KernelFolder): void {
  noteFolders(memory, kernelId, folders => [...folders.filter(one => one.folder !== folder.folder), folder])
}

/** Like `noteMounted`, for a folder that was taken out. */
export function noteUnmounted(memory: Pick<AgentMemory, 'mounts'>, kernelId: KernelId, folder: FolderId): void {
  noteFolders(memory, kernelId, folders => folders.filter(one => one.folder !== folder))
}

function noteFolders(memory: Pick<AgentMemory, 'mounts'>, id: KernelId, change: (folders: Folders) => KernelFolder[]) {
  const before = memory.mounts.get(id)
  if (before) memory.mounts = new Map([...memory.mounts, [id, { ...before, folders: change(before.folders) }]])
}
