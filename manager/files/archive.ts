import { AppError, because, type FileKind, isAppError } from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { chunksOf } from './content.ts'
import { archivedName, ArchivedPaths } from './archived-name.ts'
import { isHoles } from '../storage/file-state.ts'
import { followingLinks, realPathOf } from '../storage/real-path.ts'
import { entryAt, type Target } from './link-targets.ts'
import { nameOfPath, numbered, openPlace } from './places.ts'
import { MOST_LEVELS, passOver } from './walk.ts'
import { type LinkWalk, walkLinks } from './walk-links.ts'
import { type ZipEntry } from './zip.ts'

const MOST_FILES = 200_000
/** Largest file in an archive. A sparse file takes no space on the storage, but would be sent as zeros for years. */
const MOST_BYTES = 4 * 2 ** 40
/** Largest number of paths that the note in an archive names. */
const MOST_NAMED = 100

/**
 * Refuses an archive of too many files before its first byte is sent.
 *
 * @throws AppError `too_many_files`, `file_not_found`, `file_kind_refused` (neither a file nor a directory, also behind a link)
 */
export async function requireFewFiles(top: Directory, paths: readonly string[], signal: AbortSignal): Promise<void> {
  let count = 0
  let sum = 0
  const walked: string[] = []
  const rules = { top, signal, walked, onTooDeep: () => undefined, onLinkLeftOut: () => undefined }
  for (const path of paths) {
    const { kind, size, real } = await namedEntry(top, path)
    if (kind === 'file') {
      if ((sum += size) > MOST_BYTES) throw tooLarge(MOST_BYTES)
    } else if (kind === 'directory') {
      for await (const { name: _ } of walkLinks(rules, real)) if (++count > MOST_FILES) throw tooMany()
    } else throw notForArchives(nameOfPath(path))
  }
}

/** File or directory at a path, following links. @property real its path without links */
async function namedEntry(
  top: Directory,
  path: string,
): Promise<{ readonly kind: FileKind; readonly size: number; readonly real: string }> {
  return await followingLinks(
    top,
    path,
    async real => {
      const entry = await entryAt(top, real)
      if (entry.kind !== 'link') return { ...entry, real }
      const target = await realPathOf(top, real)
      return { ...(await entryAt(top, target)), real: target }
    },
    'keep',
  )
}

export interface ArchiveSpec {
  readonly paths: readonly string[]
  /** Name of the archive's top directory if the whole folder is archived. */
  readonly name: string
  readonly signal: AbortSignal
  readonly limits?: { readonly files: number; readonly bytes: number }
}

/**
 * Entries of an archive: each file and directory of these paths, under its own name. Links are followed as by `walkLinks`. Pipes, sockets
 * and devices are left out, as are entries that cannot be read or are gone. Entries that lie too deep are left out too; a note at the end
 * names them, and links that lead nowhere.
 *
 * A session may add entries faster than they are sent, and an archive uses memory for each, so they are counted again.
 *
 * @throws AppError `too_many_files`
 */
export async function* entriesOf(
  top: Directory,
  { limits: { files, bytes } = { files: MOST_FILES, bytes: MOST_BYTES }, ...spec }: ArchiveSpec,
): AsyncGenerator<ZipEntry, void, undefined> {
  const leftOut: LeftOut = { deep: [], links: [], aliases: [], special: [], holes: [], shorter: [], renamed: [] }
  const names = createNames()
  let count = 0
  let sum = 0
  for await (const entry of allEntries(top, { ...spec, leftOut, names })) {
    sum += entry.size
    if (++count > files + spec.paths.length) throw tooMany()
    if (sum > bytes) throw tooLarge(bytes)
    yield entry
  }
  if (Object.values(leftOut).some(({ length }) => length > 0)) yield noteOf(leftOut, names.of(NOTE, 'LEFT-OUT.txt').at)
}

/** Paths that are missing in an archive, or have another name there. */
interface LeftOut {
  /** Directories whose entries lie too deep. */
  readonly deep: string[]
  /** Links that lead out of the folder, or to nothing. */
  readonly links: string[]
  /** Links to directories that are in the archive themselves, or contain one that is; each with the path of its directory in the folder. */
  readonly aliases: string[]
  /** Pipes, sockets and devices. */
  readonly special: string[]
  /** Files that consist almost entirely of holes. */
  readonly holes: string[]
  /** Files that got shorter while they were sent. */
  readonly shorter: string[]
  /** Entries that have another name in the archive; their paths there. */
  readonly renamed: string[]
}

async function* allEntries(
  top: Directory,
  { paths, name, signal, leftOut, names }: Omit<ArchiveSpec, 'limits'> & { leftOut: LeftOut; names: Names },
): AsyncGenerator<ZipEntry, void, undefined> {
  const walked: string[] = []
  for (const path of paths) {
    const own = path === '' ? name : nameOfPath(path)
    const { shown, at } = names.of(path, own)
    if (at !== own) leftOut.renamed.push(at)
    const { kind, real } = await namedEntry(top, path)
    if (kind === 'file') {
      await using place = await openPlace(top, real)
      yield* fileEntry(place.directory, place.name, at, leftOut)
    } else if (kind === 'directory')
      yield* directoryEntries({ top, signal, walked, leftOut, inArchive: names.inArchive }, real, shown)
  }
}

/** No path of a folder: the note has a name among those of the chosen entries. */
const NOTE = '/'

type Names = ReturnType<typeof createNames>

/** Names at the top of an archive. */
function createNames() {
  const inArchive = new ArchivedPaths()
  const chosen = new Map<string, string>()
  return {
    inArchive,
    /** @returns the name among those before it, and how it is written in the archive */
    of(path: string, name: string) {
      const shown = nameAmong(chosen, path, name)
      return { shown, at: inArchive.of(shown) }
    },
  }
}

/** Name of a chosen entry among those before it: two of different directories may have the same one. @param chosen paths, by names that are taken */
function nameAmong(chosen: Map<string, string>, path: string, name: string): string {
  for (let number = 0; ; number++) {
    const tried = numbered(name, number)
    if ((chosen.get(tried) ?? path) !== path) continue
    chosen.set(tried, path)
    return tried
  }
}

interface DirectoryRules extends Pick<LinkWalk, 'top' | 'signal' | 'walked'> {
  readonly leftOut: LeftOut
  readonly inArchive: ArchivedPaths
}

/** @param real path of the directory in the folder @param name its own in the archive, as in the folder */
async function* directoryEntries(
  { leftOut, inArchive: paths, ...rules }: DirectoryRules,
  real: string,
  name: string,
): AsyncGenerator<ZipEntry, void, undefined> {
  const inArchive = (below: string) => paths.of(`${name}/${below}`)
  {
    await using directory = await rules.top.walk(real)
    yield await directoryEntry(directory, paths.of(name))
  }
  const walk = {
    ...rules,
    onTooDeep: (below: string) => leftOut.deep.push(inArchive(below)),
    onLinkLeftOut(below: string, target: Target | undefined) {
      if (target) leftOut.aliases.push(`${inArchive(below)} → ${safePath(target.path)}`)
      else leftOut.links.push(inArchive(below))
    },
  }
  for await (const found of walkLinks(walk, real)) {
    const at = inArchive(found.path)
    if (nameOfPath(at) !== nameOfPath(found.path)) leftOut.renamed.push(at)
    if (found.kind === 'file') yield* fileEntry(found.directory, found.name, at, leftOut)
    if (found.kind === 'other') leftOut.special.push(at)
    if (found.kind !== 'directory') continue
    await using entered = await found.directory.enter(found.name).catch(passOver)
    if (entered) yield await directoryEntry(entered, at)
  }
}

async function directoryEntry(directory: Directory, path: string): Promise<ZipEntry> {
  const { modifiedAt, mode } = await directory.state()
  return { path: `${path}/`, modifiedAt, mode: mode & 0o777, size: 0, bytes: [] }
}

async function* fileEntry(
  directory: Directory,
  name: string,
  path: string,
  { holes, shorter }: Pick<LeftOut, 'holes' | 'shorter'>,
): AsyncGenerator<ZipEntry, void, undefined> {
  await using file = await directory.open(name).catch(passOver)
  if (!file) return
  const state = await file.state()
  const { size, modifiedAt, mode } = state
  if (isHoles(state)) holes.push(path)
  else
    yield {
      path,
      size,
      modifiedAt,
      mode: mode & 0o777,
      bytes: asFarAsItGoes(chunksOf(file, 0, size), () => shorter.push(path)),
    }
}

/** The chunks of a file, which may end earlier than announced: one rotating log must not spoil a whole archive. */
async function* asFarAsItGoes(
  chunks: AsyncIterable<Buffer>,
  onShorter: () => unknown,
): AsyncGenerator<Buffer, void, undefined> {
  try {
    yield* chunks
  } catch (error) {
    if (!isAppError(error) || error.code !== 'file_changed') throw error
    onShorter()
  }
}

const safePath = (path: string) => path.split('/').map(archivedName).join('/')

/** A text file that lists entries missing in the archive, and entries with another name there. */
function noteOf({ deep, links, aliases, special, holes, shorter, renamed }: LeftOut, path: string): ZipEntry {
  const named = (paths: readonly string[], ...why: string[]) =>
    paths.length === 0
      ? []
      : [
          ...[...why, ''],
          ...paths.slice(0, MOST_NAMED),
          ...(paths.length > MOST_NAMED ? [`… and ${paths.length - MOST_NAMED} more`] : []),
          '',
        ]
  const lines = [
    ...named(
      deep,
      `The entries of these directories are not in this archive: they are nested more than ${MOST_LEVELS} directories deep.`,
      'Download directories further down one by one, or use SFTP or `berth folder download`.',
    ),
    ...named(
      links,
      'These links are not in this archive: they lead out of the folder, or to nothing. Links to files of the same folder are in it as these files.',
    ),
    ...named(
      aliases,
      'These links to directories are not in this archive: the directories are in it themselves, or what is in it lies in them.',
    ),
    ...named(special, 'These are pipes, sockets or devices, and not in this archive.'),
    ...named(
      holes,
      'These files are not in this archive: they are much larger than what they take on the disk, and would be sent as zeros.',
      'Download one by itself, or make it smaller in a session, with `tar --sparse` for instance.',
    ),
    ...named(
      shorter,
      'These files got shorter while this archive was made, and are in it as far as they went. Download them again.',
    ),
    ...named(
      renamed,
      'Not every computer takes these names, or tells them from others by the case of letters or their Unicode form. They are in this archive with "%" and two hexadecimal digits for each byte that is in question, and of equal names of several directories all but one with a number.',
    ),
  ].slice(0, -1)
  const bytes = Buffer.from(`${lines.join('\n')}\n`)
  // oxlint-disable-next-line berth/clock -- the time of a file that is made now; nothing is compared with it
  const modifiedAt = new Date()
  return { path, size: bytes.length, modifiedAt, mode: 0o644, bytes: [bytes] }
}

function tooLarge(bytes: number): AppError {
  return new AppError('too_many_files', because('archive_bytes_at_most', { limit: `${bytes / 2 ** 40} TiB` }))
}

function tooMany(): AppError {
  const why = because('archive_at_most', { limit: MOST_FILES.toLocaleString('en') })
  return new AppError('too_many_files', { limit: MOST_FILES, ...why })
}

function notForArchives(name: string): AppError {
  return new AppError('file_kind_refused', { name, ...because('archive_only_files', { name }) })
}
