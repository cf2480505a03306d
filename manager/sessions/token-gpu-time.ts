import { AppError, because, type ResourceSlots } from '#manager/contract'
import { readTokenUse } from '../store/identity/access-tokens.ts'
import { type Db } from '../store/schema.ts'

/** Shorter sessions are refused: their start would take most of the time. */
const SHORTEST_SECONDS = 60
const HOUR = 3_600

/** GPUs that a session holds; a share counts as its part. */
export function gpusOf(requested: ResourceSlots, clusterSize: number): number {
  return ((requested['cuda.device'] ?? 0) + (requested['cuda.shares'] ?? 0) / 100) * clusterSize
}

/**
 * The longest lifetime that the GPU hours of an access token leave, which is also that of a request which names none. Live sessions keep what
 * they may still take until their ends, so the budget is never passed, and a session ends by its lifetime, with the warnings of that.
 *
 * @param count of sessions of the request
 * @returns seconds; null: no limit
 * @throws AppError `over_person_limit`: not even a minute is left
 */
export async function longestByGpuHours(
  db: Db,
  tokenId: string | null,
  { gpus, count }: { readonly gpus: number; readonly count: number },
): Promise<number | null> {
  if (tokenId === null || gpus === 0) return null
  const { gpuSeconds, gpuSecondsTaken } = await readTokenUse(db, tokenId)
  if (gpuSeconds === null) return null
  const longest = Math.floor((gpuSeconds - gpuSecondsTaken) / (gpus * count))
  if (longest < SHORTEST_SECONDS) throw overGpuHours(gpuSeconds)
  return longest
}

export function overGpuHours(gpuSeconds: number): AppError {
  const limit = Math.round((gpuSeconds / HOUR) * 100) / 100
  return new AppError('over_person_limit', { limit, ...because('token_gpu_hours', { limit }) })
}
