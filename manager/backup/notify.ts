import { type Problem } from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type Mailer } from '../mail/mailer.ts'
import { backupFailedMail } from '../mail/texts.ts'
import { type Settings } from '../settings/settings.ts'
import { listSuperadmins } from '../store/identity/users.ts'
import { insertMessages } from '../store/operation/messages.ts'
import { type Store } from '../store/open-store.ts'

export interface NotifyDeps {
  readonly store: Store
  readonly settings: Pick<Settings, 'read'>
  readonly mailer: Pick<Mailer, 'post'>
  readonly events: EventPublisher
}

/** Tells every superadmin that a backup which nobody waits for has failed: among their notifications, and by mail if that is set up. */
export async function tellBackupFailed(
  { store, settings, mailer, events }: NotifyDeps,
  { title, detail }: Problem,
): Promise<void> {
  const text = [title, detail].filter(part => part !== undefined).join(': ')
  const admins = await listSuperadmins(store.db)
  await insertMessages(
    store.db,
    admins.map(({ id }) => ({ userId: id, sender: 'Berth', text, sessions: [], about: 'backup_failed' as const })),
  )
  for (const { id } of admins) events.publish({ topic: 'message', id, version: store.now() }, { userId: id })
  const { mailReady, publicUrl } = await settings.read()
  if (!mailReady) return
  for (const { email } of admins) mailer.post(backupFailedMail(email, { text, publicUrl: publicUrl ?? '' }))
}
