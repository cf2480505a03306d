import { type Problem } from '#manager/contract'
import { type TellDeps, tellSuperadmins } from '../mail/tell-superadmins.ts'
import { backupFailedMail } from '../mail/texts.ts'

/** Tells every superadmin that a scheduled backup has failed. */
export async function tellBackupFailed(deps: TellDeps, { title, detail }: Problem): Promise<void> {
  const text = [title, detail].filter(part => part !== undefined).join(': ')
  await tellSuperadmins(deps, {
    about: 'backup_failed',
    text,
    mail: (to, publicUrl) => backupFailedMail(to, { text, publicUrl }),
  })
}
