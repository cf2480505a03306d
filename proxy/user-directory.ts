import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, because } from '#manager/contract'
import { decideOnce } from './files.ts'
import { isLoopback } from './network/way.ts'

/** Letters of ids: one plain name of a directory. */
const PLAIN = /^[\w-]{1,100}$/

/** A user as a server names them. */
export interface UserOfServer {
  readonly userId: string
  /** See `serverNameOf`. */
  readonly server: string
}

/** Name of the server at an address: its origin, with one name for this computer. */
export function serverNameOf(managerUrl: string): string {
  const url = new URL(managerUrl)
  if (isLoopback(url)) url.hostname = 'localhost'
  return url.origin
}

/**
 * Makes the directory of the files that a proxy keeps for one user of one server: `<dataDir>/proxy/<userId>` for the first server that names
 * this user, another one beside it for each other server.
 *
 * Threat model: the id comes from a server, which may be hostile. In a path it could lead anywhere. It may also be the id of the same person
 * at another server: with the ports that are remembered there, and sessions of the same names, this server would get what programs of the
 * person send to those ports, such as passwords.
 *
 * @throws AppError `bad_request` for text that is no id
 */
export async function openUserDirectory(dataDir: string, { userId, server }: UserOfServer): Promise<string> {
  if (!PLAIN.test(userId)) throw new AppError('bad_request', because('ssh_data_unsafe'))
  const first = join(dataDir, 'proxy', userId)
  await mkdir(first, { recursive: true, mode: 0o700 })
  if ((await decideOnce(join(first, 'server'), server)) === server) return first
  const other = `${first}-${createHash('sha256').update(server).digest('hex').slice(0, 12)}`
  await mkdir(other, { recursive: true, mode: 0o700 })
  return other
}
