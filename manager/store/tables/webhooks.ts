import { type GroupId, type UserId, type WebhookEvent, type WebhookFault, type Webhook } from '#manager/contract'
import { type Default, type Json, type MaybeTime, type Time } from './columns.ts'

export interface WebhooksTable {
  id: string
  name: string
  /** Null: events of the whole installation. */
  group_id: GroupId | null
  /** Person whose rights are read when an event is sent; null: the account was deleted. */
  owner_id: UserId | null
  form: Webhook['form']
  events: WebhookEvent[]
  waiting_minutes: number
  /** Sealed with the context `webhook-url:<id>`. */
  sealed_url: string
  /** Scheme and host of the URL. */
  address: string
  /** Sealed with the context `webhook-secret:<id>`, as is the old one. */
  sealed_secret: string
  sealed_old_secret: Default<string | null>
  old_secret_until: MaybeTime
  active: Default<boolean>
  off_reason: Default<Webhook['off']>
  failing_since: MaybeTime
  /** Whether the owner was told that deliveries fail since then. */
  failing_told: Default<boolean>
  /** Names the manager that sends its events now, while `leased_until` is ahead. */
  lease: Default<string | null>
  leased_until: MaybeTime
  created_at: Time
}

export interface WebhookDeliveriesTable {
  id: string
  webhook_id: string
  event: string
  /** Subject of an event that is told once only; null for other events. */
  subject: Default<string | null>
  payload: Json<Readonly<Record<string, unknown>>>
  status: Default<'waiting' | 'delivered' | 'failed'>
  attempts: Default<number>
  created_at: Time
  /** Null unless it waits. */
  next_at: MaybeTime
  attempted_at: MaybeTime
  fault: Default<WebhookFault | null>
  response_status: Default<number | null>
  duration_ms: Default<number | null>
  answer: Default<string | null>
}
