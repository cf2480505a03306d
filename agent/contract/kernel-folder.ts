import { z } from 'zod'
import { FolderId, isPlainPath, TextUpTo } from '#manager/contract'

/** A folder that a kernel mounts. */
export const KernelFolder = z.object({
  /** UUID in the marker of the storage. */
  storage: z.uuid(),
  folder: FolderId,
  /** Relative to the home of the session. */
  path: TextUpTo(1_000).refine(isPlainPath),
  readOnly: z.boolean(),
})
export type KernelFolder = z.infer<typeof KernelFolder>
