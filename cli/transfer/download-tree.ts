import { closeSync, constants, fchmodSync, futimesSync, openSync, renameSync, unlinkSync, writeSync } from 'node:fs'
import { type AppError, type FileEntry, MOST_BUNDLED_BYTES } from '#manager/contract'
import { downloadBundle, type ReceivedFile } from './bundle.ts'
import { downloadFile, type DownloadSource, makeLocalDirectory, modeOf, NO_FOLLOW, partialName } from './download.ts'
import { below, type LocalPath } from './local-path.ts'
import { createPool } from './pool.ts'
import { isOfOneFile, stopsAll } from './upload-tree.ts'

/** A file of the folder, and its place on this computer. */
export interface DownloadItem {
  readonly entry: Pick<FileEntry, 'size' | 'modifiedAt' | 'etag' | 'executable' | 'ownerOnly'>
  /** In the folder. */
  readonly path: string
  /** Directories below the local top. */
  readonly parents: readonly string[]
  /** Name on this computer. */
  readonly name: string
}

export interface DownloadEvents {
  readonly onDone: (item: DownloadItem, bytes: number) => void
  readonly onFailed: (item: DownloadItem, error: AppError) => void
}

const AT_ONCE = 4
const BUNDLE_FILES = 500
const BUNDLE_BYTES = 8 * 1024 * 1024

/** Downloads files into a local directory: small ones in bundles, each of the others by itself. @throws AppError that stops all of them */
export async function downloadItems(
  source: DownloadSource,
  top: LocalPath,
  items: AsyncIterable<DownloadItem> | Iterable<DownloadItem>,
  events: DownloadEvents,
): Promise<void> {
  const pool = createPool(AT_ONCE)
  const directories = new Map<string, Promise<LocalPath>>()
  const directoryOf = ({ parents }: DownloadItem) => {
    const key = parents.join('/')
    const made = directories.get(key) ?? makeLocalDirectory(top, parents)
    directories.set(key, made)
    return made
  }
  let small: DownloadItem[] = []
  let bytes = 0
  const send = async () => {
    const bundle = small
    small = []
    bytes = 0
    if (bundle.length > 0) await pool.add(() => fetchBundle(source, bundle, { ...events, directoryOf }))
  }
  for await (const item of items) {
    source.signal.throwIfAborted()
    if (item.entry.size > MOST_BUNDLED_BYTES) {
      await pool.add(() => fetchOne(source, item, { ...events, directoryOf }))
      continue
    }
    small.push(item)
    bytes += item.entry.size
    if (small.length >= BUNDLE_FILES || bytes >= BUNDLE_BYTES) await send()
  }
  await send()
  await pool.settle()
}

interface Work extends DownloadEvents {
  readonly directoryOf: (item: DownloadItem) => Promise<LocalPath>
}

async function fetchBundle(source: DownloadSource, bundle: readonly DownloadItem[], work: Work): Promise<void> {
  const directories = await Promise.all(bundle.map(work.directoryOf))
  let index = 0
  const grown: DownloadItem[] = []
  const paths = bundle.map(({ path }) => path)
  await downloadBundle(source, paths, (_path, file) => {
    const item = bundle[index]
    const directory = directories[index]
    index++
    if (!item || directory === undefined) return
    if ('bytes' in file) {
      writeSmall(file, item, directory)
      source.onBytes(file.size)
      work.onDone(item, file.size)
    } else if (file.code === 'body_too_large') grown.push(item)
    else if (stopsAll(file)) throw file
    else work.onFailed(item, file)
  })
  // A file has grown since it was listed.
  for (const item of grown) await fetchOne(source, item, work)
}

/** Writes a file beside its place and renames it. Synchronous, as the reading of small files. */
function writeSmall({ bytes, modifiedAt }: ReceivedFile, item: DownloadItem, directory: LocalPath): void {
  const { O_CREAT, O_TRUNC, O_WRONLY } = constants
  const partial = below(directory, partialName(item))
  const file = openSync(partial, O_CREAT | O_TRUNC | O_WRONLY | NO_FOLLOW, 0o600)
  try {
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at)
      fchmodSync(file, modeOf(item.entry))
      const modified = new Date(modifiedAt)
      futimesSync(file, modified, modified)
    } finally {
      closeSync(file)
    }
    renameSync(partial, below(directory, item.name))
  } catch (error) {
    unlinkSync(partial)
    throw error
  }
}

async function fetchOne(
  source: DownloadSource,
  item: DownloadItem,
  { onDone, onFailed, directoryOf }: Work,
): Promise<void> {
  try {
    const place = { directory: await directoryOf(item), name: item.name }
    await downloadFile(source, { ...item.entry, path: item.path }, place)
    onDone(item, item.entry.size)
  } catch (error) {
    if (!isOfOneFile(error) || error.code === 'bad_request') throw error
    onFailed(item, error)
  }
}
