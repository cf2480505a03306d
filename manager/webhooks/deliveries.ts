import { setMaxListeners } from 'node:events'
import { every } from '#base/every'
import { type Webhook } from '#manager/contract'
import { type Log } from '../log.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import { webhookSecretContext, webhookUrlContext } from '../secrets/sealed.ts'
import { type Settings } from '../settings/settings.ts'
import { newUuid } from '../store/new-id.ts'
import { onBehalfOfAll } from '../store/on-behalf.ts'
import { type Store } from '../store/open-store.ts'
import { type DeliveryRow, listDue, saveAttempt } from '../store/operation/webhook-deliveries.ts'
import {
  dropWaiting,
  endLease,
  findWebhook,
  forgetFailures,
  leaseDueWebhooks,
  noteFailure,
  renewLease,
  setFailingTold,
  switchOff,
  type WebhookRow,
} from '../store/operation/webhooks.ts'
import { administers } from '../users/authorize.ts'
import { chatText } from './chat-text.ts'
import { pauseAfter } from './pauses.ts'
import { type SendMessage, type Sent } from './send.ts'
import { type TellOwner } from './tell-owner.ts'

export interface DeliveryTimings {
  /** Interval at which the outbox is read. */
  readonly pollMs: number
  /** A manager that is silent for longer loses its webhooks to another one. */
  readonly leaseSeconds: number
  /** Pause of a webhook after several failures in a row, so that the time limit of each event is not waited for. */
  readonly restSeconds: number
  /** A webhook without a success is switched off when an event is given up so long after the first failure. */
  readonly offAfterSeconds: number
  readonly pauseAfter: typeof pauseAfter
}
const DEFAULTS: DeliveryTimings = {
  pollMs: 2_000,
  leaseSeconds: 60,
  restSeconds: 60,
  offAfterSeconds: 3 * 86_400,
  pauseAfter,
}

/** Webhooks to which one manager sends at a time. */
const MOST_AT_ONCE = 16
/** Events sent to one webhook before others get their turn. */
const EVENTS_OF_TURN = 20
/** Failures in a row after which a webhook rests. */
const FAILURES_OF_TURN = 3
/** The receiver is gone for good. RFC 9110 15.5.11 */
const GONE = 410

export interface DeliveriesDeps {
  readonly store: Store
  readonly box: SecretBox
  readonly settings: Pick<Settings, 'read'>
  readonly send: SendMessage
  readonly tellOwner: TellOwner
  readonly log: Log
  readonly timings?: Partial<DeliveryTimings> | undefined
}

/**
 * Sends the outbox of webhooks. Every manager takes webhooks with due events by a lease, and sends to each of them one event after the
 * other. A manager that is killed after a request and before it was recorded sends it again: receivers get an event at least once, and
 * recognise a repetition by `webhook-id`.
 */
export interface Deliveries extends AsyncDisposable {
  /** Sends what is due soon. */
  wake(): void
}

/** Sends one event now. A failure of the receiver is a result. @throws if the manager ends, or cannot read the webhook */
export type SendOne = (row: WebhookRow, delivery: Pick<DeliveryRow, 'id' | 'payload'>) => Promise<Sent>

export function createSendOne({
  store,
  box,
  settings,
  send,
  signal,
}: Pick<DeliveriesDeps, 'store' | 'box' | 'settings' | 'send'> & { readonly signal: AbortSignal }): SendOne {
  return async (row, { id, payload }) => {
    const { webhookHosts, webhookHttp } = await settings.read()
    const now = store.now()
    const isOldValid = row.old_secret_until !== null && row.old_secret_until.getTime() > now
    const sealed = [row.sealed_secret, ...(isOldValid && row.sealed_old_secret !== null ? [row.sealed_old_secret] : [])]
    return send(
      {
        id: messageIdOf(id),
        timestamp: Math.floor(now / 1000),
        body: JSON.stringify(row.form === 'text' ? { text: chatText(payload) } : payload),
        url: box.open(row.sealed_url, webhookUrlContext(row.id)),
        secrets: sealed.map(secret => box.open(secret, webhookSecretContext(row.id))),
      },
      { hosts: new Set(webhookHosts?.split(', ') ?? []), http: webhookHttp },
      signal,
    )
  }
}

export const messageIdOf = (deliveryId: string): string => `msg_${deliveryId}`

/** Whether the owner may administer what the webhook tells of, now. */
function isOwned(row: WebhookRow): boolean {
  if (row.owner_holds !== true || row.owner_role === null || row.owner_domain === null) return false
  const owner = { role: row.owner_role, domain: row.owner_domain }
  return row.group_id === null ? owner.role === 'superadmin' : row.domain !== null && administers(owner, row.domain)
}

export function startDeliveries(deps: DeliveriesDeps): Deliveries {
  const { store, tellOwner, log } = deps
  const { db } = store
  const timings = { ...DEFAULTS, ...deps.timings }
  const { leaseSeconds } = timings
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  const sendOne = createSendOne({ ...deps, signal: stop.signal })
  const running = new Set<Promise<void>>()
  const stopping = () => stop.signal.aborted

  async function turnOff(row: WebhookRow, reason: NonNullable<Webhook['off']>): Promise<void> {
    const about = reason === 'owner' ? 'webhook_owner' : 'webhook_off'
    await tellOwner(row, about, trx => switchOff(trx, row.id, reason))
  }

  async function record(row: WebhookRow, { id, attempts }: DeliveryRow, sent: Sent): Promise<void> {
    if (sent.fault === null) {
      await saveAttempt(db, id, sent, null)
      await forgetFailures(db, row.id)
      return
    }
    const reply = { status: sent.responseStatus, retryAfter: sent.retryAfter }
    const again = sent.responseStatus === GONE ? null : timings.pauseAfter(attempts + 1, reply, Math.random())
    await saveAttempt(db, id, sent, again)
    const failing = await noteFailure(db, row.id)
    if (sent.responseStatus === GONE) return turnOff(row, 'gone')
    if (again !== null || failing === undefined) return
    if (failing.seconds >= timings.offAfterSeconds) return turnOff(row, 'failing')
    if (!failing.isTold) await tellOwner(row, 'webhook_failing', trx => setFailingTold(trx, row.id))
  }

  /** Sends one event. @returns whether it was delivered; undefined: the webhook gets no more events in this turn */
  async function deliver(webhookId: string, lease: string, delivery: DeliveryRow): Promise<boolean | undefined> {
    if (stopping() || !(await renewLease(db, webhookId, { lease, leaseSeconds }))) return undefined
    const row = await findWebhook(db, webhookId)
    if (!row) return undefined
    if (!row.active) {
      // A change that saw the webhook active was committed after it was switched off. Kept, its events would be due forever.
      await dropWaiting(db, webhookId)
      return undefined
    }
    if (!isOwned(row)) {
      await turnOff(row, 'owner')
      return undefined
    }
    const sent = await sendOne(row, delivery)
    await record(row, delivery, sent)
    return sent.fault === null
  }

  async function turn(webhookId: string, lease: string): Promise<void> {
    let failures = 0
    let restSeconds = timings.restSeconds
    try {
      for (const delivery of await listDue(db, webhookId, EVENTS_OF_TURN)) {
        const isDelivered = await deliver(webhookId, lease, delivery)
        if (isDelivered === undefined) break
        failures = isDelivered ? 0 : failures + 1
        if (failures >= FAILURES_OF_TURN) break
      }
      if (failures < FAILURES_OF_TURN) restSeconds = 0
    } finally {
      // After an error of our own the webhook rests too, so that it is not repeated with every poll; another manager goes on at once.
      await endLease(db, webhookId, lease, stopping() ? 0 : restSeconds)
    }
  }

  async function work(): Promise<void> {
    const limit = MOST_AT_ONCE - running.size
    if (stopping() || limit <= 0) return
    const lease = newUuid()
    for (const id of await leaseDueWebhooks(db, { lease, leaseSeconds, limit })) {
      const one = turn(id, lease)
        .then(() => true)
        .catch((error: unknown) => {
          if (!stopping()) log.warn({ err: error, webhookId: id }, 'events of a webhook could not be sent')
          return false
        })
        .then(isWell => {
          running.delete(one)
          // More may be due. After a failure, the next poll tries again.
          if (isWell) wake()
        })
      running.add(one)
    }
  }

  const polling = every(
    timings.pollMs,
    () => onBehalfOfAll(work),
    error => {
      if (!stopping()) log.warn({ err: error }, 'the outbox of webhooks could not be read')
    },
  )
  const wake = () => {
    if (!stopping()) void polling.now()
  }

  return {
    wake,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await polling[Symbol.asyncDispose]()
      await Promise.all(running)
    },
  }
}
