import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, mkdir, open, rename, utimes } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { Writable } from 'node:stream'
import { releaseBytes } from '#base/release-bytes'
import { isNameOfDevice } from '#base/windows-names'
import { AppError, fileContentAddress, type FolderId } from '#manager/contract'
import { type Connection } from '../config/connect.ts'
import { below, type LocalPath, shownPath } from './local-path.ts'
import { retrying } from './retrying.ts'
import { sendTransfer } from './send.ts'

/** While one write is in flight, up to this many further bytes are read from the server. */
const AHEAD_BYTES = 4 * 1024 * 1024

export interface DownloadSource {
  readonly connection: Connection
  readonly folderId: FolderId
  readonly signal: AbortSignal
  readonly onBytes: (count: number) => void
  readonly onPause: (error: Error) => void
}

/** A file of the folder, as a listing describes it. */
export interface RemoteFile {
  readonly path: string
  readonly size: number
  readonly modifiedAt: string
  readonly etag: string | null
  readonly executable: boolean
  /** Left out for a file that others may read. */
  readonly ownerOnly?: boolean | undefined
}

/** Mode of a downloaded file. */
export const modeOf = ({ executable, ownerOnly = false }: Pick<RemoteFile, 'executable' | 'ownerOnly'>) =>
  (executable ? 0o755 : 0o644) & (ownerOnly ? 0o700 : 0o777)

/**
 * Lets a local file be run by those who may read it, or by nobody. A link is not followed.
 *
 * @returns whether the file changed: some file systems have no such bit, and only the owner of a file may change it
 */
export async function setExecutable(local: LocalPath, executable: boolean): Promise<boolean> {
  const { O_RDONLY, O_NONBLOCK } = constants
  await using file = await open(local, O_RDONLY | O_NONBLOCK | NO_FOLLOW)
  const { mode } = await file.stat()
  try {
    await file.chmod(executable ? mode | ((mode & 0o444) >> 2) : mode & ~0o111)
    return ((await file.stat()).mode & 0o100) === (executable ? 0o100 : 0)
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'EPERM' || error.code === 'ENOTSUP')) return false
    throw error
  }
}

/** Flag that refuses links: a file is written beside files of others, where somebody may have put a link. Windows has no such flag. */
export const NO_FOLLOW = (constants as { readonly O_NOFOLLOW?: number }).O_NOFOLLOW ?? 0

/** Name of the file that holds an incomplete download; different for each version of the remote file. */
export function partialName({ path, entry }: { path: string; entry: Pick<RemoteFile, 'etag'> }): string {
  const version = createHash('sha256')
    .update(`${path}\0${entry.etag ?? ''}`)
    .digest('hex')
    .slice(0, 12)
  return `.berth-${version}.part`
}

/** Whether a file is an incomplete download. */
export const isPartial = (name: string) => /^\.berth-[0-9a-f]{12}\.part$/.test(name)

/**
 * Downloads a file next to its place and then renames it, so the place holds the old or the whole new file. Continues
 * the partial file that an earlier run left of the same version: its name contains the version.
 */
export async function downloadFile(
  source: DownloadSource,
  remote: RemoteFile,
  { directory, name }: { readonly directory: LocalPath; readonly name: string },
): Promise<void> {
  const { connection, folderId, signal, onBytes, onPause } = source
  const partial = below(directory, partialName({ path: remote.path, entry: remote }))
  const { O_CREAT, O_RDWR } = constants
  await using file = await open(partial, O_CREAT | O_RDWR | NO_FOLLOW, 0o600)
  let end = Math.min((await file.stat()).size, remote.size)
  await file.truncate(end)
  onBytes(end)

  async function attempt(): Promise<void> {
    if (end === remote.size) return
    const etag = remote.etag === null ? {} : { 'if-match': remote.etag, 'if-range': remote.etag }
    const reply = await sendTransfer(connection, {
      method: 'GET',
      path: fileContentAddress(folderId, remote.path),
      headers: { ...etag, ...(end > 0 ? { range: `bytes=${end}-` } : {}) },
      signal,
    })
    const isFromStart = reply.statusCode !== 206
    if (isFromStart && end > 0) {
      onBytes(-end)
      end = 0
      await file.truncate(0)
    }
    const changed = () => new AppError('file_changed', { why: `"${remote.path}" changed while it was downloaded.` })
    const write = async (chunks: readonly Buffer[]) => {
      const bytes = chunks.reduce((sum, { length }) => sum + length, 0)
      // A hostile server could fill the disk.
      if (end + bytes > remote.size) throw changed()
      const { bytesWritten } = await file.writev(chunks, end)
      end += bytesWritten
      onBytes(bytesWritten)
      if (bytesWritten !== bytes) throw new Error('the disk is full')
      chunks.forEach(releaseBytes)
    }
    const sink = new Writable({
      highWaterMark: AHEAD_BYTES,
      write(chunk: Buffer, _encoding, done) {
        write([chunk]).then(() => done(), done)
      },
      // Chunks that arrived during the last write are written with one call.
      writev(queued, done) {
        write(queued.map(({ chunk }) => chunk as Buffer)).then(() => done(), done)
      },
    })
    await pipeline(reply, sink, { signal }).catch((error: unknown) => {
      signal.throwIfAborted()
      if (error instanceof AppError || (error instanceof Error && 'syscall' in error && error.syscall === 'write'))
        throw error
      throw new AppError('unavailable', { why: 'The connection was cut.' }, { cause: error })
    })
    if (end !== remote.size) throw changed()
  }

  await retrying(attempt, { signal, onPause, progress: () => end })
  await file.chmod(modeOf(remote))
  await file.close()
  const modified = new Date(remote.modifiedAt)
  await utimes(partial, modified, modified)
  await rename(partial, below(directory, name))
}

/**
 * Makes a directory below another one. A link on the way is refused: it may have been there before, and leads elsewhere.
 *
 * @throws AppError `bad_request`
 */
export async function makeLocalDirectory(top: LocalPath, parts: readonly string[]): Promise<LocalPath> {
  let here = top
  await mkdir(top, { recursive: true })
  for (const part of parts) {
    here = below(here, part)
    await mkdir(here).catch(async (error: unknown) => {
      const found = await lstat(here).catch(() => undefined)
      if (found?.isDirectory()) return
      throw new AppError(
        'bad_request',
        { why: `${shownPath(here)} exists and is not a directory. Move it away, or choose another place.` },
        { cause: error },
      )
    })
  }
  return here
}

/** Whether a name of the server is safe as one part of a local path. */
export function isSafeName(name: string): boolean {
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name)) return false
  // Windows: other separators, drives and streams, and names of devices.
  return process.platform !== 'win32' || !(/[\\:*?"<>|]/.test(name) || isNameOfDevice(name))
}
