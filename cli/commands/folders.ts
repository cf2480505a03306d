import { type Command, Option } from 'commander'
import { defined } from '#base/defined'
import { FolderUsageMode } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput } from '../output.ts'
import { followCopy, tellLeftOut } from './follow-task.ts'
import { listenForInterrupt } from '../interrupt.ts'
import { findFolder, findTrashed, folderTable } from './find-folder.ts'
import { projectId } from './find-user.ts'
import { addFolderFileCommands, deleteFilesIn, listFilesAt } from './folder-files.ts'
import { addFolderHostsCommand } from './folder-hosts.ts'
import { addFolderSettingCommands } from './folder-settings.ts'
import { addFolderSftpCommands } from './folder-sftp.ts'
import { addFolderUploadCommand } from './folder-upload.ts'
import { addFolderSyncCommand } from './folder-sync.ts'
import { type OrUnlimited, parseFileLimit, UNLIMITED } from './limit-flags.ts'
import { sizeOption } from './size.ts'
import { addFolderSharingCommands } from './folder-sharing.ts'

interface FolderFlags {
  storageHost?: string
  project?: string
  readOnly?: boolean
  trash?: boolean
  permanently?: boolean
  maxSize?: number
  maxFiles?: OrUnlimited<number>
  usageMode?: FolderUsageMode
  json?: boolean
}

/** `berth folder …`. A folder is named by its id or its name; `findFolder` says how else. */
export function addFolderCommands(program: Command): void {
  const folder = program.command('folder').description('Directories that keep their files when sessions end.')

  folder
    .command('ls [place]')
    .description('Your folders, and those of your projects; or the files at a place: FOLDER or FOLDER:PATH.')
    .option('--trash', 'those in the trash')
    .option('--json', 'print JSON')
    .action(async (place: string | undefined, { trash = false, json = false }: FolderFlags) => {
      const { api } = await connect()
      if (place !== undefined) {
        await listFilesAt(api, place, createOutput(json))
        return
      }
      const { items } = await api.listFolders({ query: trash ? { trashed: 'true' } : {} })
      createOutput(json).data(items, () => folderTable(items))
    })

  folder
    .command('create <name>')
    .description('Make a folder. A session mounts it with `berth session create --folder NAME`.')
    .option('--storage-host <name>', 'where its files are kept; see `berth folder hosts`')
    .option(
      '--project <project>',
      'a folder of the project instead of your own, for admins; an id, a name or `domain/name`',
    )
    .option('--max-size <size>', 'the most that its files may take on disk, e.g. 20g', sizeOption)
    .option('--max-files <n>', 'the most files, directories and links that it may have', parseFileLimit)
    .addOption(new Option('--usage-mode <mode>', 'what it is for').choices(FolderUsageMode.options))
    .option('--read-only', 'members of the project may only read it')
    .option('--json', 'print JSON')
    .action(async (name: string, { json = false, ...flags }: FolderFlags) => {
      const { storageHost, project, readOnly = false, maxSize, maxFiles = UNLIMITED, usageMode } = flags
      const { api } = await connect()
      const group = project === undefined ? undefined : await projectId(api, project)
      const made = await api.createFolder({
        body: {
          name,
          ...defined({ storageHost, group, maxBytes: maxSize }),
          ...(maxFiles === UNLIMITED ? {} : { maxFiles }),
          ...defined({ usageMode }),
          ...(readOnly ? { permission: 'ro' as const } : {}),
        },
      })
      createOutput(json).data(made, () => folderTable([made]))
    })

  folder
    .command('clone <folder> <name>')
    .description(
      'Copy a folder with all its files to a new folder of yours. Ctrl-C cancels, and deletes the new folder.',
    )
    .option(
      '--storage-host <name>',
      'where the files of the new folder are kept; where those of the folder are if left out',
    )
    .option('--json', 'print JSON')
    .action(async (reference: string, name: string, { storageHost, json = false }: FolderFlags) => {
      const { api } = await connect()
      using interrupt = listenForInterrupt()
      const { id } = await findFolder(api, reference)
      const body = { name, ...defined({ storageHost }) }
      const { folder: made, task, leftOut } = await api.cloneFolder({ params: { id }, body })
      const ended = task === null ? undefined : await followCopy(api, made.id, task, interrupt.signal)
      const output = createOutput(json)
      if (ended === undefined || ended.status === 'done') output.data(made, () => folderTable([made]))
      tellLeftOut(output, ended?.copy?.leftOut ?? leftOut)
    })

  addFolderSettingCommands(folder)

  folder
    .command('rm <folder> [paths...]')
    .description(
      'Move a folder to the trash, from which `berth folder restore` takes it back. With PATHS: delete these files, and ' +
        'directories with everything in them; nothing brings them back.',
    )
    .option('--permanently', 'delete a folder in the trash and all its files; nothing brings them back')
    .action(async (reference: string, paths: string[], { permanently = false }: FolderFlags) => {
      const { api } = await connect()
      if (paths.length > 0) {
        await deleteFilesIn(api, reference, paths)
        return
      }
      if (permanently) await api.deleteFolder({ params: { id: (await findTrashed(api, reference)).id } })
      else await api.trashFolder({ params: { id: (await findFolder(api, reference)).id } })
    })

  folder
    .command('restore <folder>')
    .description('Take a folder out of the trash.')
    .option('--json', 'print JSON')
    .action(async (reference: string, { json = false }: FolderFlags) => {
      const { api } = await connect()
      const { id } = await findTrashed(api, reference)
      const restored = await api.restoreFolder({ params: { id } })
      createOutput(json).data(restored, () => folderTable([restored]))
    })

  addFolderSharingCommands(folder)
  addFolderUploadCommand(folder)
  addFolderSyncCommand(folder)
  addFolderFileCommands(folder)
  addFolderSftpCommands(folder)
  addFolderHostsCommand(folder)
}
