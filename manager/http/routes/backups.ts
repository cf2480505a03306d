import { type Backups } from '../../backup/backups.ts'
import { type Handlers } from '../handlers.ts'

export function createBackupRoutes(backups: Backups): Pick<Handlers, 'listBackups' | 'createBackup' | 'deleteBackup'> {
  return {
    listBackups: () => backups.list(),
    createBackup: ({ caller }) => backups.start(caller.email),
    deleteBackup: (_context, { params }) => backups.remove(params.name),
  }
}
