import { Argument, type Command, Option } from 'commander'
import { defined } from '#base/defined'
import { AppError, FolderPermission, FolderUsageMode } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { followCopy, tellLeftOut } from './follow-task.ts'
import { listenForInterrupt } from '../interrupt.ts'
import { findFolder, findTrashed, folderTable } from './find-folder.ts'
import { projectId } from './find-user.ts'
import { addFolderFileCommands, deleteFilesIn, listFilesAt } from './folder-files.ts'
import { addFolderSftpCommands } from './folder-sftp.ts'
import { addFolderUploadCommand } from './folder-upload.ts'
import { addFolderSyncCommand } from './folder-sync.ts'
import { limitOf, type OrUnlimited, parseFileLimit, parseSizeLimit, UNLIMITED } from './limit-flags.ts'
import { sizeOption } from './size.ts'
import { bytes } from './text.ts'
import { addFolderSharingCommands, permitShare, sharesTable } from './folder-sharing.ts'

interface FolderFlags {
  storageHost?: string
  project?: string
  readOnly?: boolean
  trash?: boolean
  permanently?: boolean
  member?: string
  maxSize?: number
  maxFiles?: OrUnlimited<number>
  files?: OrUnlimited<number>
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

  folder
    .command('rename <folder> <name>')
    .description('Sessions that have it mounted keep it where it is.')
    .option('--json', 'print JSON')
    .action(async (reference: string, name: string, { json = false }: FolderFlags) => {
      const { api } = await connect()
      const { id } = await findFolder(api, reference)
      const changed = await api.updateFolder({ params: { id }, body: { name } })
      createOutput(json).data(changed, () => folderTable([changed]))
    })

  folder
    .command('usage-mode <folder>')
    .addArgument(new Argument('<mode>').choices(FolderUsageMode.options))
    .description('Say what a folder is for: files of any kind, data sets, or trained models. Rights are not changed.')
    .option('--json', 'print JSON')
    .action(async (reference: string, usageMode: FolderUsageMode, { json = false }: FolderFlags) => {
      const { api } = await connect()
      const { id } = await findFolder(api, reference)
      const changed = await api.updateFolder({ params: { id }, body: { usageMode } })
      createOutput(json).data(changed, () => folderTable([changed]))
    })

  folder
    .command('limit <folder>')
    .addArgument(new Argument('[size]').argParser(parseSizeLimit))
    .description('The most that its files may take on disk, e.g. 20g, and how many it may have; or `unlimited`.')
    .option('--files <n>', 'the most files, directories and links, or `unlimited`', parseFileLimit)
    .option('--json', 'print JSON')
    .action(async (reference: string, size: OrUnlimited<number> | undefined, { files, json = false }: FolderFlags) => {
      if (size === undefined && files === undefined) {
        throw new AppError('bad_request', { why: 'Give a size, --files or both.' })
      }
      const body = {
        ...(size === undefined ? {} : { maxBytes: limitOf(size) }),
        ...(files === undefined ? {} : { maxFiles: limitOf(files) }),
      }
      const { api } = await connect()
      const { id } = await findFolder(api, reference)
      const changed = await api.updateFolder({ params: { id }, body })
      createOutput(json).data(changed, () => folderTable([changed]))
    })

  folder
    .command('permit <folder>')
    .addArgument(new Argument('<permission>').choices(FolderPermission.options))
    .description(
      'What the members of the project, or one member, may do in a folder: ro reads, rw writes, delete also deletes and renames. For sessions that are requested from now on.',
    )
    .option('--member <email>', 'for this member, or this open invitation')
    .option('--json', 'print JSON')
    .action(async (reference: string, permission: FolderPermission, { member, json = false }: FolderFlags) => {
      const { api } = await connect()
      const of = await findFolder(api, reference)
      if (member !== undefined) {
        const shares = await permitShare(api, of, member, permission)
        createOutput(json).data(shares, () => sharesTable(shares))
        return
      }
      if (of.group === null) {
        const why = 'The folder is yours, so you have every permission. Name a member with `--member EMAIL`.'
        throw new AppError('bad_request', { why })
      }
      const { id } = of
      const changed = await api.updateFolder({ params: { id }, body: { permission } })
      createOutput(json).data(changed, () => folderTable([changed]))
    })

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

  folder
    .command('hosts')
    .description('Where folders can be kept, whether each place can be used now, and the room that is left.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: FolderFlags) => {
      const { api } = await connect()
      const { items, folders } = await api.listStorageHosts()
      createOutput(json).data(items, () => {
        const sizeOf = (size: number | undefined) => (size === undefined ? '' : bytes(size))
        const rows = items.map(({ name, problem, space }) => [
          name,
          sizeOf(space?.usedBytes),
          sizeOf(space?.freeBytes),
          problem ?? 'ready',
        ])
        const count = `Own folders, those in the trash included: ${folders.count}${folders.limit === null ? '' : ` of ${folders.limit}`}`
        return `${table(['NAME', 'USED', 'FREE', 'STATE'], rows)}\n\n${count}`
      })
    })
}
