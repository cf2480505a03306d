import { AppError, because, shownFileName } from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { chunksOf } from './content.ts'
import { openPlace } from './places.ts'
import { passOver, walk } from './walk.ts'
import { type ZipEntry } from './zip.ts'

const MOST_FILES = 200_000

/**
 * Refuses an archive of too many files before its first byte is sent. @throws AppError `too_many_files`, `file_not_found`
 */
export async function requireFewFiles(top: Directory, paths: readonly string[], signal: AbortSignal): Promise<void> {
  let count = 0
  for (const path of paths) {
    if (path !== '') {
      await using place = await openPlace(top, path)
      const { kind } = await place.directory.lstat(place.name)
      if (kind === 'file') continue
      if (kind !== 'directory') throw notForArchives(place.name)
    }
    await using directory = await top.walk(path)
    for await (const { name: _ } of walk(directory, signal)) if (++count > MOST_FILES) throw tooMany()
  }
}

/**
 * Entries of an archive: each file and directory of these paths, under its own name. Links, pipes, sockets and devices are left
 * out, and so is what cannot be read or is gone.
 */
export async function* entriesOf(
  top: Directory,
  { paths, name, signal }: { paths: readonly string[]; name: string; signal: AbortSignal },
): AsyncGenerator<ZipEntry, void, undefined> {
  for (const path of paths) {
    if (path === '') {
      yield* directoryEntries(top, safePath(name), signal)
      continue
    }
    await using place = await openPlace(top, path)
    const { kind } = await place.directory.lstat(place.name)
    if (kind === 'file') yield* fileEntry(place.directory, place.name, safePath(place.name))
    if (kind !== 'directory') continue
    await using directory = await place.directory.enter(place.name)
    yield* directoryEntries(directory, safePath(place.name), signal)
  }
}

async function* directoryEntries(directory: Directory, path: string, signal: AbortSignal) {
  yield await directoryEntry(directory, path)
  for await (const found of walk(directory, signal)) {
    const at = `${path}/${safePath(found.path)}`
    if (found.kind === 'file') yield* fileEntry(found.directory, found.name, at)
    if (found.kind !== 'directory') continue
    await using entered = await found.directory.enter(found.name).catch(passOver)
    if (entered) yield await directoryEntry(entered, at)
  }
}

async function directoryEntry(directory: Directory, path: string): Promise<ZipEntry> {
  const { modifiedAt, mode } = await directory.state()
  return { path: `${path}/`, modifiedAt, mode: mode & 0o777, size: 0, bytes: [] }
}

async function* fileEntry(directory: Directory, name: string, path: string): AsyncGenerator<ZipEntry, void, undefined> {
  await using file = await directory.open(name).catch(passOver)
  if (!file) return
  const { size, modifiedAt, mode } = await file.state()
  yield { path, size, modifiedAt, mode: mode & 0o777, bytes: chunksOf(file, 0, size) }
}

/** A path that no program mistakes for one outside of the archive: Windows knows `\` as a separator and `C:` as a disk. */
function safePath(path: string): string {
  return path
    .split('/')
    .map(name => shownFileName(name).replace(/[\\:]/g, '_'))
    .join('/')
}

function tooMany(): AppError {
  const why = because('archive_at_most', { limit: MOST_FILES.toLocaleString('en') })
  return new AppError('too_many_files', { limit: MOST_FILES, ...why })
}

function notForArchives(name: string): AppError {
  return new AppError('file_kind_refused', { name, ...because('archive_only_files', { name }) })
}
