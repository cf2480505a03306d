import { AppError, because, countParts, MOST_PATH_PARTS } from '#manager/contract'

/**
 * Limits the work of a request with many paths. Links are not followed, so each component of a path is opened separately: 1,000 paths of
 * 400 directories keep the manager busy for a minute.
 *
 * @throws AppError `bad_request`
 */
export function requireFewParts(paths: readonly string[]): void {
  const parts = paths.reduce((sum, path) => sum + countParts(path), 0)
  if (parts > MOST_PATH_PARTS) throw tooManyParts()
}

export const tooManyParts = () => new AppError('bad_request', because('path_parts_at_most', { limit: MOST_PATH_PARTS }))
