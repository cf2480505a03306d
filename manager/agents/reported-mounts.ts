import { isDeepStrictEqual } from 'node:util'
import { type KernelReport } from '#agent/contract'
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
