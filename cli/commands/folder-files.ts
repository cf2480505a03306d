import { stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { type Command } from 'commander'
import { type ApiClient, AppError, type FileEntry, shownFileName } from '#manager/contract'
import { counted } from '../counted.ts'
import { connect } from '../config/connect.ts'
import { listenForInterrupt } from '../interrupt.ts'
import { createOutput, type Output, table } from '../output.ts'
import { downloadFile, type DownloadSource, isSafeName, makeLocalDirectory } from '../transfer/download.ts'
import { type DownloadItem, downloadItems } from '../transfer/download-tree.ts'
import { below, LocalNames, type LocalPath, NAMES_ARE_BYTES } from '../transfer/local-path.ts'
import { showProgress, sizeText } from '../transfer/progress.ts'
import {
  type FollowedTree,
  listRemote,
  type RemoteEntry,
  type RemoteTree,
  walkFollowing,
} from '../transfer/remote-tree.ts'
import { findFolder } from './find-folder.ts'
import { addFolderMoveCommands } from './folder-moves.ts'
import { plain } from './folder-paths.ts'
import { type FailedFile, failedFile, tellFailed } from './folder-upload.ts'

interface FileFlags {
  json?: boolean
}

/** @param place `FOLDER` or `FOLDER:PATH` */
export async function listFilesAt(api: ApiClient, place: string, output: Output): Promise<void> {
  const [, reference = place, path = ''] = /^([^:]*):(.*)$/s.exec(place) ?? []
  using interrupt = listenForInterrupt()
  const { id: folderId } = await findFolder(api, reference)
  const items: FileEntry[] = []
  for await (const entry of listRemote({ api, folderId, signal: interrupt.signal }, plain(path))) items.push(entry)
  output.data(items, () => fileTable(items))
}

export async function deleteFilesIn(api: ApiClient, reference: string, paths: readonly string[]): Promise<void> {
  const { id } = await findFolder(api, reference)
  await api.deleteFiles({ params: { id }, body: { paths: paths.map(plain) } })
}

/** Adds the commands on files in a folder, besides `ls`, `rm` and `upload`. */
export function addFolderFileCommands(folder: Command): void {
  folder
    .command('mkdir <folder> <path>')
    .description('Make a directory in a folder, with those that are missing on the way.')
    .action(async (reference: string, path: string) => {
      const { api } = await connect()
      const { id } = await findFolder(api, reference)
      await api.makeDirectory({ params: { id }, body: { path: plain(path), parents: true } })
    })

  addFolderMoveCommands(folder)

  folder
    .command('download <folder> <remote> [local]')
    .description(
      'Copy a file or a directory tree from a folder; `/` is the whole folder. LOCAL is the new path, or a directory that ' +
        'exists. After an interruption, the same command continues.',
    )
    .option('--json', 'print JSON')
    .action(async (reference: string, remote: string, local: string | undefined, { json = false }: FileFlags) => {
      const connection = await connect()
      using interrupt = listenForInterrupt()
      const { id: folderId, name } = await findFolder(connection.api, reference)
      using progress = showProgress('downloaded')
      const source: DownloadSource = {
        connection,
        folderId,
        signal: interrupt.signal,
        onBytes: count => progress.bytes(count),
        onPause: error => progress.say(error.message),
      }
      const wanted = { remote: plain(remote), local, folderName: name }
      const result = await downloadAll(source, wanted, () => progress.file())
      progress[Symbol.dispose]()
      const output = createOutput(json)
      output.data(result, () => `${counted(result.files, 'file')}, ${sizeText(result.bytes)}`)
      for (const path of result.skipped)
        output.note(`left out, because it is no regular file, leads out of the folder, or has no safe name: ${path}`)
      for (const { path, target } of result.aliases)
        output.note(
          `left out, because it is a link to a directory that is downloaded itself, or has it in it: ${path} → ${target}`,
        )
      for (const { path, local: saved } of result.renamed)
        output.note(
          `saved under another name, because this computer cannot have its own: ${shownFileName(path)} → ${saved}`,
        )
      tellFailed(output, 'downloaded', result.failed)
    })
}

interface Downloaded {
  files: number
  bytes: number
  readonly skipped: string[]
  /** Links to directories that are downloaded under their own names. */
  readonly aliases: { readonly path: string; readonly target: string }[]
  /** Files and directories whose names this computer cannot have. */
  readonly renamed: { readonly path: string; readonly local: string }[]
  readonly failed: FailedFile[]
}

interface Wanted {
  readonly remote: string
  readonly local: string | undefined
  readonly folderName: string
}

async function downloadAll(source: DownloadSource, wanted: Wanted, onFile: () => void): Promise<Downloaded> {
  const { connection, folderId, signal } = source
  const { remote, folderName } = wanted
  const { api } = connection
  const result: Downloaded = { files: 0, bytes: 0, skipped: [], aliases: [], renamed: [], failed: [] }
  const named = await api.getFile({ params: { id: folderId }, query: { path: remote }, signal })
  const top = named.target ?? named
  const name = remote === '' ? folderName : basename(remote)
  if (!isSafeName(name)) throw new AppError('bad_request', { why: 'Name a local file: this name cannot be used here.' })
  const localNames = NAMES_ARE_BYTES ? undefined : new LocalNames()
  const place = await localPlace(wanted.local, localNames?.take('', name) ?? name)
  const onDone = (bytes: number) => {
    result.files++
    result.bytes += bytes
    onFile()
  }
  if (top.kind === 'file') {
    await downloadFile(source, { ...top, path: remote }, place)
    onDone(top.size)
  } else if (top.kind === 'directory') {
    const target = below(place.directory, place.name)
    await makeLocalDirectory(target, [])
    await downloadItems(
      source,
      target,
      itemsOf({ api, folderId, signal }, { top: named.target?.path ?? remote, remote, target, localNames }, result),
      {
        onDone: (_item, bytes) => onDone(bytes),
        onFailed: ({ path }, error) => result.failed.push(failedFile(path, error)),
      },
    )
  } else
    throw new AppError('file_kind_refused', {
      why: `"${remote}" is no file or directory of the folder, also not by a link.`,
    })
  return result
}

/**
 * Files of a tree. Makes its directories, also the empty ones.
 *
 * @param top the directory by its path without links, @param remote as the user named it @param localNames given where names on this
 *   computer are not bytes
 */
async function* itemsOf(
  tree: RemoteTree,
  { top, remote, target, localNames }: TreePlace,
  result: Pick<Downloaded, 'skipped' | 'aliases' | 'renamed'>,
): AsyncGenerator<DownloadItem> {
  for await (const { entry, parts } of safeTree(tree, top, result)) {
    const path = parts.join('/')
    const local: string[] = []
    for (const name of parts) local.push(localNames?.take(local.join('/'), name) ?? name)
    if (local.at(-1) !== parts.at(-1)) result.renamed.push({ path, local: local.join('/') })
    if (entry.kind === 'directory') await makeLocalDirectory(target, local)
    else
      yield {
        entry,
        path: [remote, ...parts].filter(part => part !== '').join('/'),
        parents: local.slice(0, -1),
        name: local.at(-1) ?? '',
      }
  }
}

interface TreePlace {
  readonly top: string
  readonly remote: string
  readonly target: LocalPath
  readonly localNames: LocalNames | undefined
}

/** Files and directories of a tree, and what its links lead to. Names that would lead elsewhere on this computer are left out. */
async function* safeTree(
  tree: RemoteTree,
  top: string,
  { skipped, aliases }: Pick<Downloaded, 'skipped' | 'aliases'>,
): AsyncGenerator<RemoteEntry> {
  const onLinkLeftOut: FollowedTree['onLinkLeftOut'] = (parts, target) => {
    const path = parts.join('/')
    if (target) aliases.push({ path, target: target.path || '/' })
    else skipped.push(path)
  }
  for await (const found of walkFollowing({ ...tree, onLinkLeftOut }, top)) {
    const isKept = found.entry.kind === 'file' || found.entry.kind === 'directory'
    if (isKept && found.parts.every(isSafeName)) yield found
    else skipped.push(found.parts.join('/'))
  }
}

/** Chooses the target as `cp` does: inside an existing directory, else the path itself. */
async function localPlace(local: string | undefined, name: string): Promise<{ directory: string; name: string }> {
  if (local === undefined) return { directory: '.', name }
  const found = await stat(local).catch(() => undefined)
  if (found?.isDirectory()) return { directory: local, name }
  const directory = dirname(local)
  if (found || (await stat(directory).catch(() => undefined))?.isDirectory())
    return { directory, name: basename(local) }
  throw new AppError('bad_request', { why: `There is no directory ${directory}.` })
}

const fileTable = (items: readonly FileEntry[]) =>
  table(
    ['NAME', 'SIZE', 'MODIFIED'],
    items.map(({ name, kind, size, modifiedAt }) => [
      kind === 'directory' ? `${name}/` : kind === 'link' ? `${name}@` : name,
      kind === 'file' ? sizeText(size) : '',
      modifiedAt,
    ]),
  )
