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
    .description('What the members of the project may do in its folder: ro or rw. For sessions that start from now on.')
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
    .option('--permanently', 'delete it and all its files; nothing brings them back')
    .action(async (reference: string, { permanently = false }: FolderFlags) => {
      const { api } = await connect()
      const { id, status } = await findFolder(api, reference, { trashToo: permanently })
      if (status !== 'trashed') await api.trashFolder({ params: { id } })
      if (permanently) await api.deleteFolder({ params: { id } })
    })

  folder
    .command('restore <folder>')
    .description('Take a folder out of the trash.')
    .option('--json', 'print JSON')
    .action(async (reference: string, { json = false }: FolderFlags) => {
      const { api } = await connect()
      const { id } = await findFolder(api, reference, { trashToo: true, readyToo: false })
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
async function findFolder(
  api: ApiClient,
  reference: string,
  { trashToo = false, readyToo = true }: { trashToo?: boolean; readyToo?: boolean } = {},
): Promise<Folder> {
  const wanted = reference.toLowerCase()
  const isMeant = ({ id, name }: Folder) => id === wanted || name.toLowerCase() === wanted
  const ready = readyToo ? (await api.listFolders()).items.filter(isMeant) : []
  const trashed = trashToo ? (await api.listFolders({ query: { trashed: 'true' } })).items.filter(isMeant) : []
  const found = ready.length > 0 ? ready : trashed
  const own = found.filter(({ group }) => group === null)
  const [folder] = own.length > 0 ? own : found
  if (folder && (own.length === 1 || found.length === 1)) return folder
  const why = folder
    ? `Several folders are named "${reference}": name one by its id, as \`berth folder ls --json\` shows it.`
    : `You have no folder "${reference}"${readyToo ? '' : ' in the trash'}.`
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
