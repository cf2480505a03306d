import { type Webhooks } from '../../webhooks/webhooks.ts'
import { type Handlers } from '../handlers.ts'

export type WebhookHandlers = Pick<
  Handlers,
  | 'listWebhooks'
  | 'createWebhook'
  | 'updateWebhook'
  | 'deleteWebhook'
  | 'rotateWebhookSecret'
  | 'testWebhook'
  | 'listWebhookDeliveries'
  | 'resendWebhookDelivery'
>

export function createWebhookRoutes(webhooks: Webhooks): WebhookHandlers {
  return {
    listWebhooks: async ({ caller }, { query }) => ({ items: await webhooks.list(caller, query) }),
    createWebhook: ({ caller }, { body }) => webhooks.create(caller, body),
    updateWebhook: ({ caller }, { params, body }) => webhooks.change(caller, params.id, body),
    deleteWebhook: ({ caller }, { params }) => webhooks.remove(caller, params.id),
    rotateWebhookSecret: ({ caller }, { params }) => webhooks.rotateSecret(caller, params.id),
    testWebhook: ({ caller }, { params }) => webhooks.test(caller, params.id),
    listWebhookDeliveries: ({ caller }, { params, query }) => webhooks.deliveries(caller, params.id, query),
    resendWebhookDelivery: ({ caller }, { params }) => webhooks.resend(caller, params.id, params.deliveryId),
  }
}
