import { basename } from 'node:path'
import { type Command, Option } from 'commander'
import { type ApiClient, type FileConflict, type FilesCopied, type Folder } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { listenForInterrupt } from '../interrupt.ts'
import { findFolder } from './find-folder.ts'
import { createOutput } from '../output.ts'
import { followCopy, tellLeftOut } from './follow-task.ts'
import { parentOf, plain } from './folder-paths.ts'

interface MoveFlags {
  toFolder?: string
  onConflict: FileConflict
}

/** Adds `berth folder mv` and `cp`. */
export function addFolderMoveCommands(folder: Command): void {
  for (const [name, mode, what] of [
    ['mv', 'move', 'Move or rename'],
    ['cp', 'copy', 'Copy'],
  ] as const) {
    folder
      .command(`${name} <folder> <from> <to>`)
      .description(
        `${what} a file or directory within a folder, or into another one. A slash at the end of TO names a directory. ` +
          'Ctrl-C cancels what takes long: a copy is whole, or not there.',
      )
      .option('--to-folder <folder>', 'the folder that TO is in, if it is another one')
      .addOption(
        new Option('--on-conflict <what>', 'if TO is taken: fail, replace it, or rename the new one')
          .choices(['fail', 'replace', 'rename'])
          .default('fail'),
      )
      .action(async (reference: string, from: string, to: string, { toFolder, onConflict }: MoveFlags) => {
        const { api } = await connect()
        using interrupt = listenForInterrupt()
        const source = await findFolder(api, reference)
        const target = toFolder === undefined ? source : await findFolder(api, toFolder)
        const { task, leftOut } = await send(api, { source, target, mode }, { from, to, onConflict })
        const ended = task ? await followCopy(api, target.id, task, interrupt.signal) : undefined
        tellLeftOut(createOutput(false), ended?.copy?.leftOut ?? leftOut)
      })
  }
}

interface Between {
  readonly source: Folder
  readonly target: Folder
  readonly mode: 'copy' | 'move'
}

/** @returns with a task if the work takes long */
async function send(
  api: ApiClient,
  { source, target, mode }: Between,
  { from, to, onConflict }: { from: string; to: string; onConflict: FileConflict },
): Promise<Pick<FilesCopied, 'task' | 'leftOut'>> {
  const place = to.endsWith('/') ? { to: plain(to) } : { to: parentOf(plain(to)), name: basename(plain(to)) }
  const body = { paths: [plain(from)], ...place, onConflict }
  const params = { id: target.id }
  if (source.id !== target.id) return api.importFiles({ params, body: { from: source.id, mode, ...body } })
  if (mode === 'copy') return api.copyFiles({ params, body })
  await api.moveFiles({ params, body })
  return { task: null }
}
