import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { AppError, type ErrorCode, type FileConflict } from '#manager/contract'
import { counted } from '../counted.ts'
import { keypairOf } from '../config/access.ts'
import { connect } from '../config/connect.ts'
import { listenForInterrupt } from '../interrupt.ts'
import { createOutput, type Output } from '../output.ts'
import { walkLocalTree } from '../transfer/local-tree.ts'
import { showProgress, sizeText } from '../transfer/progress.ts'
import { type UploadTarget, uploadFile } from '../transfer/upload.ts'
import { type UploadItem, uploadItems } from '../transfer/upload-tree.ts'
import { findFolder } from './find-folder.ts'

interface UploadFlags {
  onConflict: FileConflict
  json?: boolean
}

/** Adds `berth folder upload`. */
export function addFolderUploadCommand(folder: Command): void {
  folder
    .command('upload <folder> <local> [remote]')
    .description(
      'Copy a file or a directory tree into a folder. REMOTE is the new path; with a slash at its end, the directory. ' +
        'After an interruption, the same command continues large files.',
    )
    .addOption(
      new Option('--on-conflict <what>', 'if the path is taken: replace the file, fail, or rename the new one')
        .choices(['replace', 'fail', 'rename'])
        .default('replace'),
    )
    .option('--json', 'print JSON')
    .action(async (reference: string, local: string, remote: string | undefined, flags: UploadFlags) => {
      const connection = await connect()
      using interrupt = listenForInterrupt()
      const { id: folderId } = await findFolder(connection.api, reference)
      const output = createOutput(flags.json ?? false)
      using progress = showProgress('uploaded')
      const target: UploadTarget = {
        connection,
        folderId,
        onConflict: flags.onConflict,
        isSigned: keypairOf(process.env) !== undefined,
        signal: interrupt.signal,
        onBytes: count => progress.bytes(count),
        onPause: error => progress.say(error.message),
      }
      const result = await uploadAll(target, local, remote, { onFile: () => progress.file() })
      progress[Symbol.dispose]()
      output.data(result, () => `${counted(result.files, 'file')}, ${sizeText(result.bytes)}`)
      for (const path of result.skipped) output.note(`left out, because it is no regular file: ${path}`)
      for (const path of result.twins)
        output.note(
          `left out, because another name beside it differs only in its Unicode form; rename one of them: ${path}`,
        )
      tellFailed(output, 'uploaded', result.failed)
    })
}

interface Uploaded {
  files: number
  bytes: number
  /** Links and the like in the local tree. */
  readonly skipped: string[]
  /** Names that differ from one beside them only in their Unicode form. */
  readonly twins: string[]
  readonly failed: FailedFile[]
}

async function uploadAll(
  target: UploadTarget,
  local: string,
  remote: string | undefined,
  { onFile }: { onFile: () => void },
): Promise<Uploaded> {
  const found = await stat(local).catch((error: unknown) => {
    throw new AppError('bad_request', { why: `There is no file ${local}.` }, { cause: error })
  })
  const result: Uploaded = { files: 0, bytes: 0, skipped: [], twins: [], failed: [] }
  const name = basename(resolve(local))
  const wanted = remote === undefined || remote === '' ? name : remote.endsWith('/') ? remote + name : remote
  const base = wanted.replace(/^\/+/, '')
  if (!found.isDirectory()) {
    const onBytes = (count: number) => {
      result.bytes += count
      target.onBytes(count)
    }
    await uploadFile({ ...target, onBytes }, local, base)
    result.files = 1
    return result
  }
  await uploadItems(target, treeOf(local, base, result), {
    onDone({ kind }, bytes) {
      if (kind === 'directory') return
      result.files++
      result.bytes += bytes
      onFile()
    },
    onFailed: (item, error) => result.failed.push(failedFile(item.remote, error)),
  })
  return result
}

async function* treeOf(
  local: string,
  base: string,
  { skipped, twins }: Pick<Uploaded, 'skipped' | 'twins'>,
): AsyncGenerator<UploadItem> {
  const entries = walkLocalTree(local, (path, why) => (why === 'twin' ? twins : skipped).push(path))
  for await (const { parts, ...entry } of entries) yield { ...entry, remote: [base, ...parts].join('/') }
}

/** A file that was not transferred, for the output. */
export interface FailedFile {
  readonly path: string
  readonly code: ErrorCode
  readonly why: string
}

export const failedFile = (path: string, { code, message }: AppError): FailedFile => ({ path, code, why: message })

/** @throws AppError if files were not transferred */
export function tellFailed(output: Output, what: string, failed: readonly FailedFile[]): void {
  for (const { path, why } of failed) output.note(`not ${what}: ${path}: ${why}`)
  const [first] = failed
  if (!first) return
  throw new AppError(first.code, {
    why: `${counted(failed.length, 'file was', 'files were')} not ${what}; the same command tries again.`,
  })
}
