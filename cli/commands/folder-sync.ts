import { stat } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { AppError, type FolderId } from '#manager/contract'
import { counted } from '../counted.ts'
import { keypairOf } from '../config/access.ts'
import { connect, type Connection } from '../config/connect.ts'
import { listenForInterrupt } from '../interrupt.ts'
import { createOutput, type Output } from '../output.ts'
import { setExecutable } from '../transfer/download.ts'
import { type DownloadItem, downloadItems } from '../transfer/download-tree.ts'
import { below, type LocalPath } from '../transfer/local-path.ts'
import { type Progress, showProgress, sizeText } from '../transfer/progress.ts'
import { type Difference, differences } from '../transfer/sync.ts'
import { localSide, remoteSide, type SyncSide } from '../transfer/sync-sides.ts'
import { type UploadItem, uploadItems } from '../transfer/upload-tree.ts'
import { findFolder } from './find-folder.ts'
import { plain } from './folder-paths.ts'
import { type FailedFile, failedFile, tellFailed } from './folder-upload.ts'

interface SyncFlags {
  to?: boolean
  from?: boolean
  checksum?: boolean
  delete?: boolean
  dryRun?: boolean
  json?: boolean
}

/** Adds `berth folder sync`. */
export function addFolderSyncCommand(folder: Command): void {
  folder
    .command('sync <folder> <local> [remote]')
    .description(
      'Make a directory of a folder, or the whole folder, like a local directory (`--to`), or the other way round (`--from`). ' +
        'Sends files that are new or have another size or time, and carries over which may be run. After an interruption, the same command continues.',
    )
    .addOption(new Option('--to', 'to the folder: LOCAL is the source').conflicts('from'))
    .addOption(new Option('--from', 'from the folder: LOCAL is the target'))
    .option('--checksum', 'compare files of the same size by their bytes (SHA-256), not by their times')
    .option('--delete', 'delete what the source does not have')
    .option('--dry-run', 'only say what would be done')
    .option('--json', 'print JSON')
    .action(async (reference: string, local: string, remote: string | undefined, flags: SyncFlags) => {
      if (!flags.to && !flags.from) {
        throw new AppError('bad_request', { why: 'Say in which direction: `--to` the folder, or `--from` it.' })
      }
      const connection = await connect()
      using interrupt = listenForInterrupt()
      const { id: folderId } = await findFolder(connection.api, reference)
      const output = createOutput(flags.json ?? false)
      using progress = showProgress(flags.to ? 'uploaded' : 'downloaded')
      const run = new SyncRun({
        connection,
        folderId,
        local,
        top: plain(remote ?? ''),
        flags,
        progress,
        signal: interrupt.signal,
      })
      await run.requireSource()
      await run.run()
      progress[Symbol.dispose]()
      tell(output, run.result, flags)
    })
}

interface SyncResult {
  files: number
  bytes: number
  /** Files that were the same already. */
  same: number
  /** Files on this computer of which only the executable bit changed. */
  modes: number
  directories: number
  deleted: number
  /** With `--dry-run`: what would be done, in order. */
  readonly actions: { readonly action: 'send' | 'mode' | 'make' | 'delete'; readonly path: string }[]
  readonly skipped: string[]
  readonly failed: FailedFile[]
}

interface SyncDeps {
  readonly connection: Connection
  readonly folderId: FolderId
  readonly local: string
  /** Directory in the folder. */
  readonly top: string
  readonly flags: SyncFlags
  readonly progress: Progress
  readonly signal: AbortSignal
}

class SyncRun {
  readonly result: SyncResult = {
    files: 0,
    bytes: 0,
    same: 0,
    modes: 0,
    directories: 0,
    deleted: 0,
    actions: [],
    skipped: [],
    failed: [],
  }
  readonly #deps: SyncDeps
  readonly #target: SyncSide
  readonly #source: SyncSide
  /** Deleted at the end, after everything has arrived. */
  readonly #extra: (readonly string[])[] = []

  constructor(deps: SyncDeps) {
    this.#deps = deps
    const [here, there] = [localSide(deps.local), remoteSide(deps, deps.top)]
    ;[this.#source, this.#target] = deps.flags.to ? [here, there] : [there, here]
  }

  /** A source that does not exist would delete everything at the target. @throws AppError `bad_request`, `file_not_found` */
  async requireSource(): Promise<void> {
    const { flags, local, top, connection, folderId, signal } = this.#deps
    if (flags.to) {
      const found = await stat(local).catch(() => undefined)
      if (!found?.isDirectory()) throw new AppError('bad_request', { why: `${local} is no directory.` })
      return
    }
    const { kind, target } = await connection.api.getFile({ params: { id: folderId }, query: { path: top }, signal })
    if ((target?.kind ?? kind) !== 'directory')
      throw new AppError('file_kind_refused', { why: `"${top}" is no directory of the folder.` })
  }

  async run(): Promise<void> {
    const { flags, signal } = this.#deps
    const isFailed = () => this.result.failed.length > 0
    if (flags.dryRun) for await (const found of this.#differences()) this.#note(found)
    else {
      await this.#target.makeDirectory([])
      await (flags.to ? this.#upload() : this.#download())
    }
    signal.throwIfAborted()
    // Delete only after everything was sent: a file that failed may exist at the target under another name, and a later run deletes that
    // one.
    if (flags.dryRun || isFailed()) return
    await this.#target.delete(this.#extra)
    this.result.deleted += this.#extra.length
  }

  async *#differences(): AsyncGenerator<Difference> {
    const { flags, signal } = this.#deps
    const rules = { checksum: flags.checksum ?? false, delete: flags.delete ?? false }
    for await (const found of differences({ source: this.#source, target: this.#target, rules, signal })) {
      const path = found.parts.join('/')
      if (found.step === 'same') this.result.same++
      else if (found.step === 'skip') this.result.skipped.push(path)
      else if (found.step === 'in the way') {
        const why = 'A directory has the name of the file, or a file that of the directory. `--delete` replaces it.'
        this.result.failed.push({ path, code: 'file_kind_refused', why })
      } else yield this.#asSent(found)
    }
  }

  /** A file in a folder gets another mode only by being sent again. */
  #asSent(found: Difference): Difference {
    return found.step === 'mode' && this.#deps.flags.to ? { ...found, step: 'send' } : found
  }

  #note({ step, parts }: Difference): void {
    if (step !== 'send' && step !== 'mode' && step !== 'make' && step !== 'delete') return
    this.result.actions.push({ action: step, path: parts.join('/') })
    if (step === 'send') this.result.files++
    else if (step === 'mode') this.result.modes++
    else if (step === 'make') this.result.directories++
    else this.result.deleted++
  }

  /** Does all steps except sending; yields the files to send. */
  async *#files(): AsyncGenerator<Difference> {
    let last: Difference | undefined
    for await (const found of this.#differences()) {
      // Entries in the way of the next one are deleted first; all other deletions come last.
      if (last && last.targetParts.join('/') === found.targetParts.join('/')) {
        await this.#target.delete([last.targetParts])
        this.result.deleted++
      } else if (last) this.#extra.push(last.targetParts)
      last = undefined
      if (found.step === 'delete') last = found
      else if (found.step === 'make') {
        await this.#target.makeDirectory(found.targetParts)
        this.result.directories++
      } else if (found.step === 'mode') {
        const local = found.targetParts.reduce<LocalPath>(below, this.#deps.local)
        if (await setExecutable(local, found.node.executable ?? false)) this.result.modes++
        else this.result.same++
      } else yield found
    }
    if (last) this.#extra.push(last.targetParts)
  }

  async #upload(): Promise<void> {
    const { connection, folderId, local, top, progress, signal } = this.#deps
    const target = {
      connection,
      folderId,
      onConflict: 'replace' as const,
      isSigned: keypairOf(process.env) !== undefined,
      signal,
      onBytes: (count: number) => progress.bytes(count),
      onPause: (error: Error) => progress.say(error.message),
    }
    await uploadItems(target, this.#uploads(local, top), {
      onDone: (_item, bytes) => this.#done(bytes),
      onFailed: ({ remote }, error) => this.result.failed.push(failedFile(remote, error)),
    })
  }

  async *#uploads(local: string, top: string): AsyncGenerator<UploadItem> {
    for await (const { parts, targetParts } of this.#files())
      yield {
        kind: 'file',
        local: parts.reduce<LocalPath>(below, local),
        remote: [top, ...targetParts].filter(part => part !== '').join('/'),
      }
  }

  async #download(): Promise<void> {
    const { connection, folderId, local, top, progress, signal } = this.#deps
    const source = {
      connection,
      folderId,
      signal,
      onBytes: (count: number) => progress.bytes(count),
      onPause: (error: Error) => progress.say(error.message),
    }
    await downloadItems(source, local, this.#downloads(top), {
      onDone: (_item, bytes) => this.#done(bytes),
      onFailed: ({ path }, error) => this.result.failed.push(failedFile(path, error)),
    })
  }

  async *#downloads(top: string): AsyncGenerator<DownloadItem> {
    for await (const { parts, targetParts, node } of this.#files()) {
      const entry = {
        size: node.size,
        modifiedAt: new Date(node.modifiedMs).toISOString(),
        etag: node.etag ?? null,
        executable: node.executable ?? false,
        ownerOnly: node.ownerOnly,
      }
      yield {
        entry,
        path: [top, ...parts].filter(part => part !== '').join('/'),
        parents: targetParts.slice(0, -1),
        name: targetParts.at(-1) ?? '',
      }
    }
  }

  #done(bytes: number): void {
    this.result.files++
    this.result.bytes += bytes
    this.#deps.progress.file()
  }
}

function tell(output: Output, result: SyncResult, { to, dryRun }: SyncFlags): void {
  const { files, bytes, same, modes, directories, deleted, actions, skipped, failed } = result
  const counts = [
    `${counted(files, 'file')} ${dryRun ? 'to send' : `sent, ${sizeText(bytes)}`}`,
    `${same} the same`,
    ...(modes > 0 ? [`${modes} ${dryRun ? 'to make' : 'made'} executable or not`] : []),
    ...(directories > 0 ? [`${counted(directories, 'directory', 'directories')} ${dryRun ? 'to make' : 'made'}`] : []),
    ...(deleted > 0 ? [`${deleted} ${dryRun ? 'to delete' : 'deleted'}`] : []),
  ].join('; ')
  const lines = actions.map(({ action, path }) => `${action.padEnd(6)} ${path}`)
  output.data(result, () => [...lines, counts].join('\n'))
  for (const path of skipped)
    output.note(
      `left out, because it is no regular file, is a link to a directory or out of the folder, or has no safe name: ${path}`,
    )
  tellFailed(output, to ? 'uploaded' : 'downloaded', failed)
}
