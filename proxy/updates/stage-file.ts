import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AppError, because } from '#manager/contract'
import { type Fetch } from '../network/direct-fetch.ts'
import { type UpdateFile } from './manifest.ts'

export interface StageOptions {
  /** File of a manifest whose signature was verified. */
  readonly file: UpdateFile
  /** Address of the manifest: the file is beside it. */
  readonly listUrl: string
  /** Belongs to the user only. */
  readonly folder: string
  readonly fetch: Fetch
  readonly signal: AbortSignal
}

/**
 * Downloads a file of an update. It gets its own name only when it is complete and has the signed hash; a partial or different file is
 * removed.
 *
 * @returns its path
 * @throws AppError `unavailable` if the download fails, `forbidden` if it is not the signed file
 */
export async function stageFile({ file, listUrl, folder, fetch, signal }: StageOptions): Promise<string> {
  const path = join(folder, file.name)
  if ((await hashOf(path)) === file.sha512) return path
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const part = `${path}.part`
  try {
    const reply = await fetch(new URL(file.name, listUrl), { redirect: 'error', signal })
    if (!reply.ok || !reply.body) throw new Error(`HTTP ${reply.status}`)
    await pipeline(reply.body, atMost(file.sizeBytes), createWriteStream(part, { mode: 0o600 }), { signal })
    if ((await hashOf(part)) !== file.sha512) throw notSigned(file.name)
    await rename(part, path)
    return path
  } catch (error) {
    await rm(part, { force: true })
    if (error instanceof AppError) throw error
    throw new AppError('unavailable', because('update_not_downloaded', { file: file.name }), { cause: error })
  }
}

const notSigned = (name: string) => new AppError('forbidden', because('update_not_signed', { file: name }))

/** Ends a download that is longer than the signed size, before it fills the disk. */
function atMost(bytes: number): Transform {
  let left = bytes
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      left -= chunk.length
      if (left < 0) done(new AppError('forbidden', because('update_longer')))
      else done(null, chunk)
    },
  })
}

/** @returns undefined if there is no such file */
async function hashOf(path: string): Promise<string | undefined> {
  const hash = createHash('sha512')
  try {
    await pipeline(createReadStream(path), hash)
    return hash.digest('hex')
  } catch {
    return undefined
  }
}
