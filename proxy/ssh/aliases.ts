import { createHash } from 'node:crypto'
import { serverNameOf } from '../user-directory.ts'

/** The parts of a session that name it on this computer. */
export interface NamedSession {
  readonly id: string
  readonly name: string
  /** Whether another person shares it with the user, and has chosen its name. */
  readonly isOthers: boolean
}

/** Alias of the SFTP server of all folders. */
export const FOLDERS_ALIAS = 'berth-folders'

/**
 * `berth-` and the session name; characters that ssh might read as a pattern become `-`. Names are matched in lower case. A dot becomes `-`
 * too: what follows a dot is the server (`aliasesAt`).
 *
 * Threat model: whoever shares a session chooses its name, perhaps that of an own session of the user. Files that a script copies to an own
 * session must not go into theirs, so the alias of a session of others ends with a part of its id.
 */
export function aliasFor({ id, name, isOthers }: NamedSession): string {
  const alias = `berth-${name.toLowerCase().replace(/[^a-z0-9_-]/g, '-')}`
  return isOthers || alias === FOLDERS_ALIAS ? `${alias}${endOfAlias(id)}` : alias
}

/** A part of the id for aliases that the name alone would not make different. */
export const endOfAlias = (sessionId: string) => `-${sessionId.slice(-6)}`

/** A server as aliases name it. */
export interface ServerOfAliases {
  /** See `labelOfServer`. */
  readonly label: string
  /** Whether its sessions have short aliases on this computer (`default-server.ts`). */
  readonly isDefault: boolean
}

/** All aliases of a session or of the folders, the one to show first. */
export function aliasesAt(alias: string, { label, isDefault }: ServerOfAliases): readonly [string, ...string[]] {
  const whole = `${alias}.${label}`
  return isDefault ? [alias, whole] : [whole]
}

/**
 * The server at an address as a part of an alias: its host, and its port after a dot if https has another one. Only an IPv4 address ends in a
 * number after a dot, and it has four of them, so each server has a label of its own. Aliases are names of files, which have 255 bytes: a
 * longer label is cut and ends with a hash and `.0`, the port of no server.
 */
export function labelOfServer(address: string): string {
  const { hostname, port, protocol } = new URL(serverNameOf(address))
  const host = hostname.replace(/^\[|\]$/g, '').replace(/[^a-z0-9._-]/g, '-')
  const shownPort = protocol === 'http:' ? port || '80' : port
  const label = shownPort === '' ? host : `${host}.${shownPort}`
  if (label.length <= MOST_OF_LABEL) return label
  const hash = createHash('sha256').update(label).digest('hex').slice(0, 24)
  return `${label.slice(0, MOST_OF_LABEL - hash.length - 3)}-${hash}.0`
}

const MOST_OF_LABEL = 100

/** Whether a text has the form of `labelOfServer`. */
export const isLabel = (text: string): boolean => /^[a-z0-9._-]+$/.test(text)
