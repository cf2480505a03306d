import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, opendir } from 'node:fs/promises'

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants
/** Limit of levels, because each level of open folders holds two descriptors. */
const MOST_LEVELS = 128
/** The entry is gone, has become another kind of file, or is not readable for the agent's user. */
const PASSED_OVER = new Set(['ENOENT', 'ELOOP', 'ENOTDIR', 'EACCES'])

/**
 * Everything below a folder, without the folder itself.
 *
 * Threat model: the folder belongs to a session, which changes it at the same time, and the agent is root. Every folder is
 * opened by its name in the open folder above it, and never through a link: a folder that the session swaps for a link to the
 * host, at any level, does not lead out of the tree.
 *
 * @throws if a folder cannot be read, or the folders are nested too deeply
 */
export async function* treeBelow(folder: string | Buffer, level = 1): AsyncGenerator<Stats, void, undefined> {
  if (level > MOST_LEVELS) throw new Error('The folders are nested too deeply.')
  await using handle = await open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(passOver)
  if (!handle) return
  for await (const { name } of await listingOf(handle)) {
    // A name is any bytes; latin1 keeps each of them.
    const child = Buffer.concat([Buffer.from(`${pathOf(handle)}/`), Buffer.from(name, 'latin1')])
    const found = await lstat(child).catch(passOver)
    if (!found) continue
    yield found
    if (found.isDirectory()) yield* treeBelow(child, level + 1)
  }
}

const pathOf = (handle: FileHandle) => `/proc/self/fd/${handle.fd}`
const listingOf = (handle: FileHandle) => opendir(pathOf(handle), { encoding: 'latin1' })

function passOver(error: NodeJS.ErrnoException): undefined {
  if (!PASSED_OVER.has(error.code ?? '')) throw error
}
