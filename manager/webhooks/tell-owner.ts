import { type Message } from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type Mailer } from '../mail/mailer.ts'
import { webhookMail } from '../mail/texts.ts'
import { type TellDeps, tellSuperadmins } from '../mail/tell-superadmins.ts'
import { insertMessages } from '../store/operation/messages.ts'
import { type WebhookRow } from '../store/operation/webhooks.ts'
import { type Db } from '../store/schema.ts'

type About = Extract<NonNullable<Message['about']>, `webhook_${string}`>

/**
 * Tells the owner of a webhook about it, by a notification and by mail; superadmins where the account of the owner is gone.
 *
 * @param isDue decides in the transaction that writes, and records that it was told
 */
export type TellOwner = (row: WebhookRow, about: About, isDue: (trx: Db) => Promise<boolean>) => Promise<void>

const TEXTS = {
  webhook_failing: name =>
    `An event could not be sent to the webhook "${name}" for a day, and was given up. Send a test to see what is wrong.`,
  webhook_off: name => `The webhook "${name}" was switched off, because its receiver takes no events any more.`,
  webhook_owner: name =>
    `The webhook "${name}" was switched off, because its owner may not administer what it tells of any more. Another administrator can switch it on.`,
} as const satisfies Record<About, (name: string) => string>

export function createTellOwner(
  deps: TellDeps & { readonly mailer: Pick<Mailer, 'post'>; readonly events: EventPublisher },
): TellOwner {
  const { store, settings, mailer, events } = deps
  return async ({ name, owner_id, owner_email, owner_holds }, about, isDue) => {
    const text = TEXTS[about](name)
    const mail = (to: string, publicUrl: string) => webhookMail(to, { text, publicUrl })
    if (owner_id === null || owner_email === null || owner_holds !== true) {
      await tellSuperadmins(deps, { about, text, detail: name, mail, isDue })
      return
    }
    const isTold = await store.transaction(async trx => {
      if (!(await isDue(trx))) return false
      await insertMessages(trx, [{ userId: owner_id, sender: 'Berth', text, sessions: [], about, detail: name }])
      return true
    })
    if (!isTold) return
    events.publish({ topic: 'message', id: owner_id, version: store.now() }, { userId: owner_id })
    const { mailReady, publicUrl } = await settings.read()
    if (mailReady) mailer.post(mail(owner_email, publicUrl ?? ''))
  }
}
