import { Argument, type Command } from 'commander'
import { type ApiClient, AppError, type Folder, type FolderPermission } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'

interface FolderFlags {
  storageHost?: string
  group?: string
  readOnly?: boolean
  trash?: boolean
  permanently?: boolean
  json?: boolean
}

/** `berth folder …`. A folder is named by its id or its name. */
export function addFolderCommands(program: Command): void {
  const folder = program.command('folder').description('Directories that keep their files when sessions end.')

  folder
    .command('ls')
    .description('Your folders, and those of your projects.')
    .option('--trash', 'those in the trash')
    .option('--json', 'print JSON')
    .action(async ({ trash = false, json = false }: FolderFlags) => {
      const { api } = await connect()
      const { items } = await api.listFolders({ query: trash ? { trashed: 'true' } : {} })
      createOutput(json).data(items, () => folderTable(items))
    })

  folder
    .command('create <name>')
    .description('Make a folder. A session mounts it with `berth session create --folder NAME`.')
    .option('--storage-host <name>', 'where its files are kept; see `berth folder hosts`')
    .option('--group <project>', 'a folder of the project instead of your own, for admins')
    .option('--read-only', 'members of the project may only read it')
    .option('--json', 'print JSON')
    .action(async (name: string, { storageHost, group, readOnly = false, json = false }: FolderFlags) => {
      const { api } = await connect()
      const made = await api.createFolder({
        body: {
          name,
          ...(storageHost === undefined ? {} : { storageHost }),
          ...(group === undefined ? {} : { group }),
          ...(readOnly ? { permission: 'ro' as const } : {}),
        },
      })
      createOutput(json).data(made, () => folderTable([made]))
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
    .command('permit <folder>')
    .addArgument(new Argument('<permission>').choices(['ro', 'rw']))
    .description(
      'What the members of the project may do in its folder: ro or rw. For sessions that are requested from now on.',
    )
    .option('--json', 'print JSON')
    .action(async (reference: string, permission: FolderPermission, { json = false }: FolderFlags) => {
      const { api } = await connect()
      const { id } = await findFolder(api, reference)
      const changed = await api.updateFolder({ params: { id }, body: { permission } })
      createOutput(json).data(changed, () => folderTable([changed]))
    })

  folder
    .command('rm <folder>')
    .description('Move a folder to the trash, from which `berth folder restore` takes it back.')
    .option('--permanently', 'delete a folder in the trash and all its files; nothing brings them back')
    .action(async (reference: string, { permanently = false }: FolderFlags) => {
      const { api } = await connect()
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

  folder
    .command('hosts')
    .description('Where folders can be kept, and whether each place can be used now.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: FolderFlags) => {
      const { api } = await connect()
      const { items } = await api.listStorageHosts()
      createOutput(json).data(items, () =>
        table(
          ['NAME', 'STATE'],
          items.map(({ name, problem }) => [name, problem ?? 'ready']),
        ),
      )
    })
}

/** @throws AppError `folder_not_found` */
async function findFolder(api: ApiClient, reference: string): Promise<Folder> {
  return pick((await api.listFolders()).items, reference, `You have no folder "${reference}".`)
}

/** A folder in the trash. A folder outside of it that has the same name is never meant. @throws AppError `folder_not_found` */
async function findTrashed(api: ApiClient, reference: string): Promise<Folder> {
  const { items } = await api.listFolders({ query: { trashed: 'true' } })
  return pick(items, reference, `There is no folder "${reference}" in the trash. \`berth folder rm\` moves one there.`)
}

function pick(folders: readonly Folder[], reference: string, noSuch: string): Folder {
  const wanted = reference.toLowerCase()
  const found = folders.filter(({ id, name }) => id === wanted || name.toLowerCase() === wanted)
  const own = found.filter(({ group }) => group === null)
  const [folder, ...others] = own.length > 0 ? own : found
  if (folder && others.length === 0) return folder
  const why = folder
    ? `Several folders are named "${reference}": name one by its id, as \`berth folder ls\` shows it.`
    : noSuch
  throw new AppError('folder_not_found', { name: reference, why })
}

const folderTable = (folders: readonly Folder[]) =>
  table(
    ['NAME', 'OF', 'PERMISSION', 'STORAGE', 'ID'],
    folders.map(({ name, group, permission, storageHost, id }) => [
      name,
      group === null ? 'you' : `project ${group.name}`,
      permission === 'ro' ? 'read only' : 'read and write',
      storageHost,
      id,
    ]),
  )
