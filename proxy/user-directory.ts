import { join } from 'node:path'
import { AppError, because } from '#manager/contract'

/** Letters of ids: one plain name of a directory. */
const PLAIN = /^[\w-]{1,100}$/

/**
 * Directory of the files that a proxy keeps for one user. Threat model: the id comes from a server, which may be hostile; in a path it could
 * lead anywhere.
 *
 * @throws AppError `bad_request` for text that is no id
 */
export function userDirectory(dataDir: string, userId: string): string {
  if (!PLAIN.test(userId)) throw new AppError('bad_request', because('ssh_data_unsafe'))
  return join(dataDir, 'proxy', userId)
}
