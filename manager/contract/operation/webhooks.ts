import { z } from 'zod'
import { GroupId } from '../ids.ts'
import { TextUpTo, TrimmedText, WebAddress } from '../plain-text.ts'

/**
 * Events that leave Berth. Those of hosts go to webhooks of the installation only. Names do not change: receivers compare them.
 */
export const WEBHOOK_EVENTS = [
  'session.launched',
  'session.started',
  'session.ended',
  'session.waiting',
  'limit.reached',
  'host.lost',
  'host.back',
  'host.problem',
  'host.well',
] as const
export const WebhookEvent = z.enum(WEBHOOK_EVENTS)
export type WebhookEvent = z.infer<typeof WebhookEvent>
/** Events that a webhook of a project may get. */
export const PROJECT_WEBHOOK_EVENTS: readonly WebhookEvent[] = WEBHOOK_EVENTS.filter(name => !name.startsWith('host.'))
/** Event of a test, which a person sends. */
export const WEBHOOK_TEST = 'webhook.test'

/** `json`: an event for programs. `text`: one line for a chat room, `{"text": …}`. */
export const WEBHOOK_FORMS = ['json', 'text'] as const
export const WebhookForm = z.enum(WEBHOOK_FORMS)

/** Why Berth switched a webhook off; `person`: somebody did. */
export const WEBHOOK_OFF = ['person', 'owner', 'failing', 'gone'] as const
/** Faults of an attempt. */
export const WEBHOOK_FAULTS = [
  'address_refused',
  'not_encrypted',
  'not_found',
  'no_connection',
  'certificate',
  'timeout',
  'status',
  'redirect',
  'off',
] as const
export type WebhookFault = (typeof WEBHOOK_FAULTS)[number]

/** Most webhooks of one project, and of the installation. */
export const MOST_WEBHOOKS = 20
/** Largest part of an answer that the log of deliveries keeps, in bytes. */
export const WEBHOOK_ANSWER_BYTES = 1024
const LONGEST_WAIT_MINUTES = 7 * 24 * 60

export const WebhookId = z.uuid()

const Name = TrimmedText(64).min(1).describe('What it is for.')
const Url = WebAddress(2048, {
  protocol: /^https?$/,
  error: 'must be an address such as https://hooks.example.org/berth',
})
  .refine(text => !/^[^/]*\/\/[^/?#]*@/.test(text), 'must hold no user and no password')
  .describe(
    'Where events are sent. Stored encrypted and never shown again, because addresses of chat rooms are secrets.',
  )
const Events = z.array(WebhookEvent).min(1).max(WEBHOOK_EVENTS.length)
const WaitingMinutes = z
  .int()
  .min(1)
  .max(LONGEST_WAIT_MINUTES)
  .describe('A session that waits for longer is an event `session.waiting`.')

export const WebhookSpec = z
  .strictObject({
    name: Name,
    url: Url,
    projectId: GroupId.nullable()
      .default(null)
      .describe('Project whose events are sent; null: those of the whole installation, for superadmins.'),
    form: WebhookForm.default('json'),
    events: Events,
    waitingMinutes: WaitingMinutes.default(30),
  })
  .meta({ id: 'WebhookSpec' })
export type WebhookSpec = z.infer<typeof WebhookSpec>

/** Change of a webhook. A key that is left out keeps its value. Whoever changes it is its owner from then on. */
export const WebhookChange = z
  .strictObject({
    name: Name,
    url: Url,
    form: WebhookForm,
    events: Events,
    waitingMinutes: WaitingMinutes,
    active: z.boolean().describe('False: what waits to be sent is dropped.'),
  })
  .partial()
  .meta({ id: 'WebhookChange' })
export type WebhookChange = z.infer<typeof WebhookChange>

export const Webhook = z
  .object({
    id: WebhookId,
    name: z.string(),
    address: z.string().describe('Scheme and host of the address, for people.'),
    projectId: GroupId.nullable(),
    project: z.string().nullable().describe('Name of the project; null for the installation.'),
    domain: z.string().nullable().describe('Domain of the project.'),
    owner: z
      .string()
      .nullable()
      .describe('Mail address of the person whose rights it needs: the last who saved it. Null: the account is gone.'),
    form: WebhookForm,
    events: z.array(WebhookEvent),
    waitingMinutes: z.int(),
    active: z.boolean(),
    off: z
      .enum(WEBHOOK_OFF)
      .nullable()
      .describe(
        'Why it is off. owner: the owner may not administer this any more; failing: no delivery succeeded for days; gone: the receiver answered 410.',
      ),
    failingSince: z.iso.datetime().nullable().describe('First failure since the last success.'),
    oldSecretUntil: z.iso.datetime().nullable().describe('Until when the secret before the last change signs too.'),
    waiting: z.int().describe('Deliveries that wait to be sent.'),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Webhook' })
export type Webhook = z.infer<typeof Webhook>

export const WebhookSecret = z
  .object({
    secret: TextUpTo(200).describe(
      '`whsec_` and the key in Base64, as the Standard Webhooks have it. Shown only here.',
    ),
    oldSecretUntil: z.iso.datetime().nullable(),
  })
  .meta({ id: 'WebhookSecret' })
export type WebhookSecret = z.infer<typeof WebhookSecret>

export const NewWebhook = Webhook.extend({ secret: WebhookSecret.shape.secret }).meta({ id: 'NewWebhook' })
export type NewWebhook = z.infer<typeof NewWebhook>

export const WebhookDelivery = z
  .object({
    id: WebhookId,
    messageId: z.string().describe('The header `webhook-id`; the same for each attempt.'),
    event: z.string(),
    status: z.enum(['waiting', 'delivered', 'failed']),
    attempts: z.int(),
    createdAt: z.iso.datetime(),
    attemptedAt: z.iso.datetime().nullable(),
    nextAt: z.iso.datetime().nullable().describe('Time of the next attempt.'),
    fault: z.enum(WEBHOOK_FAULTS).nullable().describe('What went wrong last.'),
    responseStatus: z.int().nullable().describe('HTTP status of the last answer.'),
    durationMs: z.int().nullable(),
    answer: z.string().nullable().describe('First KiB of the last answer, as plain text. Words of the receiver.'),
  })
  .meta({ id: 'WebhookDelivery' })
export type WebhookDelivery = z.infer<typeof WebhookDelivery>

/** Host names of webhooks that may have private addresses: `hooks.lab.example, 10.0.0.7`. */
export const WebhookHosts = TextUpTo(1000)
  .overwrite(text =>
    text
      .toLowerCase()
      .split(/[\s,]+/)
      .filter(Boolean)
      .join(', '),
  )
  .refine(
    text => text !== '' && text.split(', ').every(host => HOST.test(host)),
    'must be host names or addresses, separated by commas',
  )
const HOST = /^([a-z0-9._-]{1,253}|\[[0-9a-f:.]+\])$/
