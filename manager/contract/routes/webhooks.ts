import { z } from 'zod'
import { GroupId } from '../ids.ts'
import {
  NewWebhook,
  Webhook,
  WebhookChange,
  WebhookDelivery,
  WebhookId,
  WebhookSecret,
  WebhookSpec,
} from '../operation/webhooks.ts'
import { Page, pageOf, type RouteSpec } from './route-spec.ts'

const OfWebhook = z.object({ id: WebhookId })

/** Webhooks: events that leave Berth, and the log of their deliveries. */
export const WEBHOOK_ROUTES = {
  listWebhooks: {
    method: 'GET',
    path: '/api/v1/webhooks',
    access: 'domain_admin',
    summary: 'List the webhooks of the projects that you administer; for superadmins also those of the installation.',
    query: z.object({ projectId: GroupId.optional().describe('Only those of this project.') }),
    reply: z.object({ items: z.array(Webhook) }),
  },
  createWebhook: {
    method: 'POST',
    path: '/api/v1/webhooks',
    access: 'domain_admin',
    byPerson: true,
    idempotencyKey: true,
    summary: 'Add a webhook. Its secret is shown in this answer only.',
    body: WebhookSpec,
    status: 201,
    reply: NewWebhook,
  },
  updateWebhook: {
    method: 'PATCH',
    path: '/api/v1/webhooks/:id',
    access: 'domain_admin',
    byPerson: true,
    summary: 'Change a webhook. From then on it needs your rights.',
    params: OfWebhook,
    body: WebhookChange,
    reply: Webhook,
  },
  deleteWebhook: {
    method: 'DELETE',
    path: '/api/v1/webhooks/:id',
    access: 'domain_admin',
    byPerson: true,
    summary: 'Delete a webhook with its log. What waits to be sent is dropped.',
    params: OfWebhook,
    status: 204,
    reply: z.void(),
  },
  rotateWebhookSecret: {
    method: 'POST',
    path: '/api/v1/webhooks/:id/secret',
    access: 'domain_admin',
    byPerson: true,
    summary: 'Make a new secret. For a day, events are signed with the old one too.',
    params: OfWebhook,
    reply: WebhookSecret,
  },
  testWebhook: {
    method: 'POST',
    path: '/api/v1/webhooks/:id/test',
    access: 'domain_admin',
    summary: 'Send a test event now, and return how it went. Works also while the webhook is off.',
    params: OfWebhook,
    reply: WebhookDelivery,
  },
  listWebhookDeliveries: {
    method: 'GET',
    path: '/api/v1/webhooks/:id/deliveries',
    access: 'domain_admin',
    summary: 'Deliveries of a webhook, newest first. Kept for two weeks.',
    params: OfWebhook,
    query: Page,
    reply: pageOf(WebhookDelivery),
  },
  resendWebhookDelivery: {
    method: 'POST',
    path: '/api/v1/webhooks/:id/deliveries/:deliveryId/resend',
    access: 'domain_admin',
    byPerson: true,
    summary: 'Send an event again, with the same message id.',
    params: OfWebhook.extend({ deliveryId: WebhookId }),
    status: 202,
    reply: WebhookDelivery,
  },
} as const satisfies Record<string, RouteSpec>
