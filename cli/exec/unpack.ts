import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { open, rename, unlink } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { type Readable } from 'node:stream'
import { extract, type Header } from 'tar-stream'
import { AppError } from '#manager/contract'
import { isSafeName, makeLocalDirectory, modeOf, NO_FOLLOW } from '../transfer/download.ts'
import { below, type LocalPath, shownPath } from '../transfer/local-path.ts'

/**
 * Unpacks what `tar` says of one file or directory of a session into a directory of this computer, over what is there.
 *
 * Threat model: a hostile session chooses every byte. Only files and directories below the asked-for name are made; no link is made, or
 * followed on the way; a file gets its name when it is complete, and no bits but the executable one.
 *
 * @param name of the file or directory, which everything in the archive is, or is below
 * @returns how many other things (links, pipes, devices) were left out
 * @throws AppError `bad_request` for names that lead elsewhere; errors of the file system
 */
export async function unpack(archive: Readable, directory: LocalPath, name: string): Promise<number> {
  let leftOut = 0
  const entries = extract()
  const reading = pipeline(archive, entries)
  reading.catch(() => undefined)
  for await (const entry of entries) {
    const parts = partsOf(entry.header, name)
    const { type } = entry.header
    if (type === 'directory') await makeLocalDirectory(directory, parts)
    else if (type === 'file' || type === 'contiguous-file') await writeFile(entry, entry.header, { directory, parts })
    else leftOut++
    entry.resume()
  }
  await reading
  return leftOut
}

/** Names of an entry, from the asked-for one on. @throws AppError `bad_request` */
function partsOf(header: Header, name: string): string[] {
  const parts = header.name.split('/').filter(part => part !== '' && part !== '.')
  const [first] = parts
  const isSafe = parts.every(isSafeName) && !header.name.startsWith('/')
  if (first === name && isSafe) return parts
  throw new AppError('bad_request', { why: `The session sent a file that is not in "${name}".` })
}

async function writeFile(
  bytes: AsyncIterable<unknown>,
  { mode }: Header,
  { directory, parts }: { readonly directory: LocalPath; readonly parts: readonly string[] },
): Promise<void> {
  const parent = await makeLocalDirectory(directory, parts.slice(0, -1))
  const partial = below(parent, `.berth-${randomBytes(6).toString('hex')}.part`)
  const { O_CREAT, O_EXCL, O_WRONLY } = constants
  try {
    await using file = await open(partial, O_CREAT | O_EXCL | O_WRONLY | NO_FOLLOW, 0o600)
    for await (const chunk of bytes) await file.writeFile(chunk as Buffer)
    await file.chmod(modeOf({ executable: (mode & 0o100) !== 0 }))
    await file.close()
    await rename(partial, below(parent, parts.at(-1) ?? ''))
  } catch (error) {
    await unlink(partial).catch(() => undefined)
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`${shownPath(below(parent, parts.at(-1) ?? ''))} could not be written: ${why}`, { cause: error })
  }
}
