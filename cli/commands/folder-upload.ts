import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { AppError, ERRORS, isAppError, type FileConflict } from '#manager/contract'
import { keypairOf } from '../config/access.ts'
import { connect } from '../config/connect.ts'
import { listenForInterrupt } from '../interrupt.ts'
import { createOutput } from '../output.ts'
import { inParallel } from '../transfer/in-parallel.ts'
import { type LocalFile, walkLocalTree } from '../transfer/local-tree.ts'
import { showProgress, sizeText } from '../transfer/progress.ts'
import { type UploadTarget, uploadFile } from '../transfer/upload.ts'
import { findFolder } from './find-folder.ts'

interface UploadFlags {
  onConflict: FileConflict
  json?: boolean
}

/** A file of its own costs a request, whose time is mostly waiting. */
const AT_ONCE = 8

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
      output.data(result, () => `${result.files} files, ${sizeText(result.bytes)}`)
      for (const path of result.skipped) output.note(`left out, because it is no regular file: ${path}`)
      for (const { path, why } of result.failed) output.note(`not uploaded: ${path}: ${why}`)
      if (result.failed.length > 0) {
        const why = `${result.failed.length} files were not uploaded; the same command tries them again.`
        throw new AppError(result.failed[0]?.code ?? 'internal', { why })
      }
    })
}

interface Uploaded {
  files: number
  bytes: number
  /** Links and the like in the local tree. */
  readonly skipped: string[]
  readonly failed: { readonly path: string; readonly code: keyof typeof ERRORS; readonly why: string }[]
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
  const result: Uploaded = { files: 0, bytes: 0, skipped: [], failed: [] }
  const name = basename(resolve(local))
  const wanted = remote === undefined || remote === '' ? name : remote.endsWith('/') ? remote + name : remote
  const base = wanted.replace(/^\/+/, '')
  const counting = {
    ...target,
    onBytes(count: number) {
      result.bytes += count
      target.onBytes(count)
    },
  }
  if (!found.isDirectory()) {
    await uploadFile(counting, local, base)
    result.files = 1
    return result
  }
  const tree = walkLocalTree(local, path => result.skipped.push(path))
  await inParallel(tree, AT_ONCE, async (file: LocalFile) => {
    const path = [base, ...file.parts].join('/')
    try {
      await uploadFile(counting, file.local, path)
      result.files++
      onFile()
    } catch (error) {
      if (!isOfOneFile(error)) throw error
      result.failed.push({ path, code: error.code, why: error.message })
    }
  })
  return result
}

/** Whether the other files of a tree may still be uploaded. */
function isOfOneFile(error: unknown): error is AppError {
  if (!isAppError(error)) return false
  const { status, retry } = ERRORS[error.code]
  return !retry && status < 500 && ![401, 403].includes(status) && error.code !== 'folder_not_found'
}
