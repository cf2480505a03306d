import { type Command } from 'commander'
import { AppError, type FolderMount, type FolderMountSpec } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput } from '../output.ts'
import { findSession } from './find-session.ts'
import { collectFolder, isMeant } from './folder-flag.ts'

interface MountFlags {
  readonly json?: boolean
}

interface UnmountFlags extends MountFlags {
  readonly force?: boolean
}

/** Adds `berth session mount` and `unmount`: folders of a session that runs. */
export function addSessionFolderCommands(session: Command): void {
  session
    .command('mount <session>')
    .argument('<NAME[:PATH][:ro]>', 'folder, and where the session sees it', text => collectFolder(text)[0])
    .description(
      'Add a folder to a running session of yours. Where its host cannot, start it again with other folders.',
    )
    .option('--json', 'print JSON')
    .action(async (reference: string, body: FolderMountSpec, { json = false }: MountFlags) => {
      const connection = await connect()
      const { id } = await findSession(connection, reference)
      const changed = await connection.api.addSessionFolder({ params: { id }, body })
      createOutput(json).data(changed, () => changed.folders.map(mountLine).join('\n'))
    })

  session
    .command('unmount <session> <folder>')
    .description('Take a folder that was added out of a running session of yours. Its files stay in the folder.')
    .option('--force', 'also while programs use it: they keep only the files that they have open')
    .option('--json', 'print JSON')
    .action(async (reference: string, folder: string, { force = false, json = false }: UnmountFlags) => {
      const connection = await connect()
      const found = await findSession(connection, reference)
      const meant = found.folders.filter(mount => isMeant(mount, folder))
      const mount = meant.find(({ added }) => added) ?? meant[0]
      if (!mount)
        throw new AppError('folder_not_found', { name: folder, why: `The session has no folder "${folder}".` })
      const params = { id: found.id, folderId: mount.folderId }
      const changed = await connection.api.removeSessionFolder({ params, query: force ? { force: 'true' } : {} })
      createOutput(json).data(changed, () => changed.folders.map(mountLine).join('\n'))
    })
}

function mountLine({ name, path, readOnly, pending }: FolderMount): string {
  const state = pending === undefined ? '' : '  waits for its host'
  return `${name}  ${path}${readOnly ? '  read-only' : ''}${state}`
}
