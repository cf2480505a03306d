import { type Message } from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type Settings } from '../settings/settings.ts'
import { listSuperadmins } from '../store/identity/users.ts'
import { insertMessages } from '../store/operation/messages.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { type Mail, type Mailer } from './mailer.ts'

export interface TellDeps {
  readonly store: Store
  readonly settings: Pick<Settings, 'read'>
  readonly mailer: Pick<Mailer, 'post'>
  readonly events: EventPublisher
}

export interface News {
  readonly about: NonNullable<Message['about']>
  readonly text: string
  /** Name of the subject. */
  readonly detail?: string
  readonly mail: (to: string, publicUrl: string) => Mail
  /** Decides in the transaction that writes whether this manager tells. Left out: it does. */
  readonly isDue?: ((trx: Db) => Promise<boolean>) | undefined
  /** Written in the same transaction. */
  readonly alongside?: (trx: Db) => Promise<void>
}

/** Tells every superadmin about an event that nobody waits for: by a notification, and by mail if that is set up. */
export async function tellSuperadmins(
  { store, settings, mailer, events }: TellDeps,
  { about, text, detail = '', mail, isDue, alongside }: News,
): Promise<void> {
  const admins = await listSuperadmins(store.db)
  const messages = admins.map(({ id }) => ({ userId: id, sender: 'Berth', text, sessions: [], about, detail }))
  const isTold = await store.transaction(async trx => {
    if (isDue && !(await isDue(trx))) return false
    await insertMessages(trx, messages)
    await alongside?.(trx)
    return true
  })
  if (!isTold) return
  for (const { id } of admins) events.publish({ topic: 'message', id, version: store.now() }, { userId: id })
  const { mailReady, publicUrl } = await settings.read()
  if (!mailReady) return
  for (const { email } of admins) mailer.post(mail(email, publicUrl ?? ''))
}
