import { z } from 'zod'
import { defined } from '#base/defined'
import {
  AppError,
  because,
  type GroupId,
  MOST_WEBHOOKS,
  type NewWebhook,
  PROJECT_WEBHOOK_EVENTS,
  type Webhook,
  WEBHOOK_TEST,
  type WebhookChange,
  type WebhookDelivery,
  type WebhookEvent,
  type WebhookSecret,
  type WebhookSpec,
} from '#manager/contract'
import { isCredentialAddress } from '../outgoing/credential-addresses.ts'
import { isPrivateAddress } from '../outgoing/private-addresses.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import { webhookSecretContext, webhookUrlContext } from '../secrets/sealed.ts'
import { type Settings } from '../settings/settings.ts'
import { findGroup } from '../store/identity/groups.ts'
import { newUuid } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { type DeliveryRow, insertTest, listDeliveries, sendAgain } from '../store/operation/webhook-deliveries.ts'
import {
  countForAddition,
  deleteWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks,
  setSecret,
  updateWebhook,
  type WebhookRow,
} from '../store/operation/webhooks.ts'
import { type Db } from '../store/schema.ts'
import { isForeignKeyViolation } from '../store/violations.ts'
import { administers, type Caller, isSuperadmin } from '../users/authorize.ts'
import { holdSignedIn } from '../users/still-authorized.ts'
import { messageIdOf, type SendOne } from './deliveries.ts'
import { newSecret } from './sign.ts'

/**
 * Webhooks: those of a project, which the administrators of its domain manage, and those of the installation, which superadmins do. For
 * others they do not exist.
 *
 * Threat model: events leave the installation. Addresses and secrets are stored encrypted; a secret is shown once, an address never again. A
 * webhook has an owner, the last person who saved it, whose rights are read again before every event. It outlives the sign-in that made it, so
 * the end of a doubt about the owner's password names it (ADR 67), and none is saved by a request that came before that end.
 */
export interface Webhooks {
  list(caller: Caller, query: { readonly projectId?: GroupId | undefined }): Promise<Webhook[]>
  /** @throws AppError `group_not_found`, `bad_request`, `forbidden`, `over_webhook_limit` */
  create(caller: Caller, spec: WebhookSpec): Promise<NewWebhook>
  /** @throws AppError `webhook_not_found`, `bad_request` */
  change(caller: Caller, id: string, change: WebhookChange): Promise<Webhook>
  /** @throws AppError `webhook_not_found`, as the following */
  remove(caller: Caller, id: string): Promise<void>
  rotateSecret(caller: Caller, id: string): Promise<WebhookSecret>
  test(caller: Caller, id: string): Promise<WebhookDelivery>
  deliveries(
    caller: Caller,
    id: string,
    page: { readonly limit: number; readonly cursor?: string | undefined },
  ): Promise<{ items: WebhookDelivery[]; nextCursor: string | null }>
  /** @throws AppError `webhook_not_found`, `webhook_delivery_not_found`, `webhook_inactive` */
  resend(caller: Caller, id: string, deliveryId: string): Promise<WebhookDelivery>
}

export interface WebhooksDeps {
  readonly store: Store
  readonly box: SecretBox
  readonly settings: Pick<Settings, 'read'>
  readonly sendOne: SendOne
  /** Called when an event has become due. */
  readonly onDue: () => void
}

export function createWebhooks({ store, box, settings, sendOne, onDue }: WebhooksDeps): Webhooks {
  const { db } = store

  async function managed(caller: Caller, id: string, from: Db = db): Promise<WebhookRow> {
    const row = await findWebhook(from, id)
    if (!row || !mayManage(caller, row)) throw new AppError('webhook_not_found', { id })
    return row
  }

  /** Refuses an address that could never be reached. Names are judged when an event is sent. */
  async function requireAddress(address: string): Promise<URL> {
    const url = new URL(address)
    const { webhookHosts, webhookHttp } = await settings.read()
    if (url.protocol === 'http:' && !webhookHttp) throw new AppError('bad_request', because('webhook_needs_https'))
    const host = url.hostname.toLowerCase()
    const isAllowed = webhookHosts?.split(', ').includes(host) ?? false
    if (isCredentialAddress(host)) throw new AppError('bad_request', because('address_not_connected', { host }))
    if (isPrivateAddress(host) && !isAllowed) throw new AppError('bad_request', because('webhook_private', { host }))
    return url
  }

  return {
    async list(caller, { projectId }) {
      const domain = isSuperadmin(caller) ? undefined : caller.domain
      return (await listWebhooks(db, { domain, projectId })).map(toView)
    },

    async create(caller, { name, url, projectId, form, events, waitingMinutes }) {
      if (projectId === null && !isSuperadmin(caller)) throw new AppError('forbidden', because('webhook_of_project'))
      requireEvents(projectId, events)
      const address = await requireAddress(url)
      const [id, secret] = [newUuid(), newSecret()]
      await store.transaction(async trx => {
        await holdSignedIn(trx, caller)
        const group = projectId === null ? undefined : await findGroup(trx, projectId)
        if (projectId !== null && (!group || !administers(caller, group.domain))) {
          throw new AppError('group_not_found', { groupId: projectId })
        }
        if ((await countForAddition(trx, projectId)) >= MOST_WEBHOOKS) {
          throw new AppError('over_webhook_limit', because('webhooks_at_most', { limit: MOST_WEBHOOKS }))
        }
        await insertWebhook(trx, {
          id,
          name,
          group_id: projectId,
          owner_id: caller.userId,
          form,
          events: [...new Set(events)],
          waiting_minutes: waitingMinutes,
          sealed_url: box.seal(url, webhookUrlContext(id)),
          address: address.origin,
          sealed_secret: box.seal(secret, webhookSecretContext(id)),
        })
      })
      return { ...toView(await managed(caller, id)), secret }
    },

    async change(caller, id, { url, events, waitingMinutes, active, ...change }) {
      const address = url === undefined ? undefined : await requireAddress(url)
      return store.transaction(async trx => {
        await holdSignedIn(trx, caller)
        const before = await managed(caller, id, trx)
        if (events) requireEvents(before.group_id, events)
        await updateWebhook(trx, id, {
          owner_id: caller.userId,
          ...defined({ name: change.name, form: change.form, waiting_minutes: waitingMinutes }),
          ...(events ? { events: [...new Set(events)] } : {}),
          ...(url !== undefined && address
            ? { sealed_url: box.seal(url, webhookUrlContext(id)), address: address.origin }
            : {}),
          ...(active === undefined || active === before.active
            ? {}
            : { active, off_reason: active ? null : ('person' as const) }),
        })
        return toView(await managed(caller, id, trx))
      })
    },

    async remove(caller, id) {
      await managed(caller, id)
      if (!(await deleteWebhook(db, id))) throw new AppError('webhook_not_found', { id })
    },

    async rotateSecret(caller, id) {
      await managed(caller, id)
      const secret = newSecret()
      const until = await setSecret(db, id, box.seal(secret, webhookSecretContext(id)))
      if (until === undefined) throw new AppError('webhook_not_found', { id })
      return { secret, oldSecretUntil: until?.toISOString() ?? null }
    },

    async test(caller, id) {
      const row = await managed(caller, id)
      const payload = {
        type: WEBHOOK_TEST,
        timestamp: new Date(store.now()).toISOString(),
        data: { webhook: row.name, project: row.project, sentBy: caller.email },
      }
      const test = { id: newUuid(), webhookId: id, event: WEBHOOK_TEST, payload }
      const sent = await sendOne(row, test)
      return toDelivery(
        await insertTest(db, test, sent).catch((error: unknown) => {
          if (isForeignKeyViolation(error)) throw new AppError('webhook_not_found', { id })
          throw error
        }),
      )
    },

    async deliveries(caller, id, { limit, cursor }) {
      await managed(caller, id)
      if (cursor !== undefined && !z.uuid().safeParse(cursor).success) {
        throw new AppError('bad_request', because('cursor_wrong'))
      }
      const rows = await listDeliveries(db, id, { limit: limit + 1, before: cursor })
      const items = rows.slice(0, limit).map(toDelivery)
      return { items, nextCursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null }
    },

    async resend(caller, id, deliveryId) {
      const row = await managed(caller, id)
      if (!row.active) throw new AppError('webhook_inactive', because('webhook_switch_on'))
      const again = await sendAgain(db, id, deliveryId)
      if (!again) throw new AppError('webhook_delivery_not_found', { id: deliveryId })
      onDue()
      return toDelivery(again)
    },
  }
}

/** Whether the caller manages this webhook now. */
function mayManage(caller: Caller, { group_id, domain }: WebhookRow): boolean {
  return group_id === null ? isSuperadmin(caller) : domain !== null && administers(caller, domain)
}

function requireEvents(projectId: GroupId | null, events: readonly WebhookEvent[]): void {
  if (projectId === null) return
  const [event] = events.filter(name => !PROJECT_WEBHOOK_EVENTS.includes(name))
  if (event !== undefined) throw new AppError('bad_request', because('webhook_event_of_installation', { event }))
}

const momentOf = (time: Date | null) => time?.toISOString() ?? null

function toView(row: WebhookRow): Webhook {
  return {
    id: row.id,
    name: row.name,
    address: row.address,
    projectId: row.group_id,
    project: row.project,
    domain: row.domain,
    owner: row.owner_email,
    form: row.form,
    events: row.events,
    waitingMinutes: row.waiting_minutes,
    active: row.active,
    off: row.off_reason,
    failingSince: momentOf(row.failing_since),
    oldSecretUntil: momentOf(row.old_secret_until),
    waiting: row.waiting,
    createdAt: row.created_at.toISOString(),
  }
}

function toDelivery(row: DeliveryRow): WebhookDelivery {
  return {
    id: row.id,
    messageId: messageIdOf(row.id),
    event: row.event,
    status: row.status,
    attempts: row.attempts,
    createdAt: row.created_at.toISOString(),
    attemptedAt: momentOf(row.attempted_at),
    nextAt: momentOf(row.next_at),
    fault: row.fault,
    responseStatus: row.response_status,
    durationMs: row.duration_ms,
    answer: row.answer,
  }
}
