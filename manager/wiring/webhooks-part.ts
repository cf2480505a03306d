import { type JobLocks } from '../cluster/job-locks.ts'
import { type EventPublisher } from '../events/bus.ts'
import { createWebhookRoutes, type WebhookHandlers } from '../http/routes/webhooks.ts'
import { type Log } from '../log.ts'
import { type Mailer } from '../mail/mailer.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import { type Settings } from '../settings/settings.ts'
import { type Store } from '../store/open-store.ts'
import { createSendOne, type DeliveryTimings, startDeliveries } from '../webhooks/deliveries.ts'
import { createSendMessage } from '../webhooks/send.ts'
import { startStateEvents } from '../webhooks/state-events.ts'
import { createTellOwner } from '../webhooks/tell-owner.ts'
import { createWebhooks } from '../webhooks/webhooks.ts'

export interface WebhookTimings extends Partial<DeliveryTimings> {
  readonly statesEveryMs?: number
}

export interface WebhooksPartDeps {
  readonly store: Store
  readonly box: SecretBox
  readonly settings: Settings
  readonly mailer: Mailer
  readonly events: EventPublisher
  readonly jobLocks: JobLocks
  readonly log: Log
  readonly timings?: WebhookTimings | undefined
}

/** Webhooks: their routes, and the work that writes and sends events. */
export interface WebhooksPart extends AsyncDisposable {
  readonly handlers: WebhookHandlers
}

export function startWebhooksPart({ timings, ...deps }: WebhooksPartDeps): WebhooksPart {
  const { store, box, settings, jobLocks, log } = deps
  // Creating these never fails.
  const stack = new AsyncDisposableStack()
  const send = createSendMessage()
  const deliveries = stack.use(
    startDeliveries({ store, box, settings, send, tellOwner: createTellOwner(deps), log, timings }),
  )
  stack.use(
    startStateEvents({ store, jobLocks, onWritten: () => deliveries.wake(), log, everyMs: timings?.statesEveryMs }),
  )
  const stop = new AbortController()
  stack.defer(() => stop.abort())
  const sendOne = createSendOne({ store, box, settings, send, signal: stop.signal })
  const webhooks = createWebhooks({ store, box, settings, sendOne, onDue: () => deliveries.wake() })
  return { handlers: createWebhookRoutes(webhooks), [Symbol.asyncDispose]: () => stack.disposeAsync() }
}
