import { type Webhook, WEBHOOK_TEST, type WebhookDelivery, type WebhookEvent } from '#manager/contract'
import { t } from '../../../words/en/admin-webhooks.ts'

const EVENTS = {
  'session.launched': 'event_session_launched',
  'session.started': 'event_session_started',
  'session.ended': 'event_session_ended',
  'session.waiting': 'event_session_waiting',
  'limit.reached': 'event_limit_reached',
  'host.lost': 'event_host_lost',
  'host.back': 'event_host_back',
  'host.problem': 'event_host_problem',
  'host.well': 'event_host_well',
  [WEBHOOK_TEST]: 'event_test',
} as const satisfies Record<WebhookEvent | typeof WEBHOOK_TEST, string>

/** An event in words; its name if a newer manager sends one that this page does not know. */
export const eventText = (event: string): string =>
  Object.hasOwn(EVENTS, event) ? t(EVENTS[event as keyof typeof EVENTS]) : event

export type WebhookState = 'on' | 'failing' | 'off'
export const stateOf = ({ active, failingSince }: Pick<Webhook, 'active' | 'failingSince'>): WebhookState =>
  active ? (failingSince === null ? 'on' : 'failing') : 'off'
export const STATE_TONES = { on: 'good', failing: 'warn', off: 'neutral' } as const satisfies Record<
  WebhookState,
  string
>
export const DELIVERY_TONES = {
  waiting: 'busy',
  delivered: 'good',
  failed: 'bad',
} as const satisfies Record<WebhookDelivery['status'], string>

export const placeText = ({ project, domain }: Pick<Webhook, 'project' | 'domain'>): string =>
  project === null ? t('installation') : `${domain ?? ''}/${project}`
