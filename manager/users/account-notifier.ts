import { type SessionId, type AccountNewsKind, type UserId } from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type Mailer } from '../mail/mailer.ts'
import { newsMail, newsText } from '../mail/account-news-texts.ts'
import { type Settings } from '../settings/settings.ts'
import { findUser, type UserRow } from '../store/identity/users.ts'
import { insertMessages } from '../store/operation/messages.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { isReachable } from './acting-for.ts'
import { type Caller } from './authorize.ts'

/** A message about an action on another person's account. */
export interface News {
  /** The owner of the account. */
  readonly userId: UserId
  readonly by: Pick<Caller, 'userId' | 'email'>
  readonly kind: AccountNewsKind
  /** Name of the subject: an access key, a role, a domain. */
  readonly detail?: string
  readonly sessions?: readonly { readonly id: SessionId; readonly name: string }[]
}

/**
 * Informs people of actions of others on their accounts: as notifications in the console, and by mail if that is set up (ADR 59). Nobody
 * gets messages about their own actions, except about new ways to sign in, and about things created while somebody else may have had access
 * to the account.
 */
export interface AccountNotifier {
  /** Writes the messages in the transaction of the change, so that no change goes unannounced. Call `announce` after the commit. */
  write(trx: Db, news: readonly News[]): Promise<void>
  /** Shows the written messages in open consoles, and mails them. */
  announce(news: readonly News[]): Promise<void>
  /** Writes and announces messages, after a change that is already committed. */
  notify(news: readonly News[]): Promise<void>
}

export interface AccountNotifierDeps {
  readonly store: Store
  readonly settings: Pick<Settings, 'read'>
  readonly mailer: Pick<Mailer, 'post'>
  readonly events: EventPublisher
}

/** Messages about actions within the account itself, by whoever was signed in to it. */
export function newsOfOwn({ id: userId, email }: Pick<UserRow, 'id' | 'email'>, kind: AccountNewsKind): News {
  return { userId, by: { userId, email }, kind }
}

const isForSelfToo = (kind: AccountNewsKind) => kind.startsWith('own_') || kind.startsWith('left_')
const ofOthers = (news: readonly News[]) =>
  news.filter(({ userId, by, kind }) => userId !== by.userId || isForSelfToo(kind))
const textOf = ({ kind, by, detail = '' }: News) => newsText(kind, { by: by.email, detail })

export function createAccountNotifier({ store, settings, mailer, events }: AccountNotifierDeps): AccountNotifier {
  async function write(trx: Db, news: readonly News[]): Promise<void> {
    await insertMessages(
      trx,
      ofOthers(news).map(one => ({
        userId: one.userId,
        sender: one.by.email,
        text: textOf(one),
        sessions: one.sessions ?? [],
        about: one.kind,
        detail: one.detail ?? '',
      })),
    )
  }

  async function announce(news: readonly News[]): Promise<void> {
    const shown = ofOthers(news)
    if (shown.length === 0) return
    const { mailReady, publicUrl } = await settings.read()
    for (const one of shown) {
      const { userId, kind } = one
      events.publish({ topic: 'message', id: userId, version: store.now() }, { userId })
      const to = mailReady ? await findUser(store.db, userId) : undefined
      const mail = to && isReachable(to, { mailReady }) && newsMail(to.email, { kind, text: textOf(one), publicUrl })
      if (mail !== undefined && mail !== false) mailer.post(mail)
    }
  }

  return {
    write,
    announce,
    async notify(news) {
      await store.transaction(trx => write(trx, news))
      await announce(news)
    },
  }
}
