import { Argument, type Command } from 'commander'
import { AppError, FolderPermission, FolderUsageMode } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput } from '../output.ts'
import { findFolder, folderTable } from './find-folder.ts'
import { limitOf, type OrUnlimited, parseFileLimit, parseSizeLimit } from './limit-flags.ts'
import { permitShare, sharesTable } from './folder-sharing.ts'

interface SettingFlags {
  member?: string
  files?: OrUnlimited<number>
  json?: boolean
}

/** Commands that change a folder itself, not its files: name, purpose, limits and permissions. */
export function addFolderSettingCommands(folder: Command): void {
  folder
    .command('rename <folder> <name>')
    .description('Sessions that have it mounted keep it where it is.')
    .option('--json', 'print JSON')
    .action(async (reference: string, name: string, { json = false }: SettingFlags) => {
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
    .action(async (reference: string, usageMode: FolderUsageMode, { json = false }: SettingFlags) => {
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
    .action(async (reference: string, size: OrUnlimited<number> | undefined, { files, json = false }: SettingFlags) => {
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
    .action(async (reference: string, permission: FolderPermission, { member, json = false }: SettingFlags) => {
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
}
