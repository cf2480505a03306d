import { z } from 'zod'
import { Message, MessageSpec } from '../identity/messages.ts'
import { Page, pageOf, type RouteSpec } from './route-spec.ts'

/** Messages of administrators to the owners of sessions. */
export const MESSAGE_ROUTES = {
  sendMessage: {
    method: 'POST',
    path: '/api/v1/messages',
    access: 'domain_admin',
    idempotencyKey: true,
    summary:
      'Send a message to the owners of sessions: each gets it once among the notifications, and by mail if mail is set up.',
    body: MessageSpec,
    reply: z.object({
      recipients: z.int().describe('Number of owners.'),
      mailed: z.boolean().describe('Whether mails are sent too.'),
    }),
  },
  listMessages: {
    method: 'GET',
    path: '/api/v1/me/messages',
    access: 'user',
    summary: 'Messages of administrators to the caller, newest first, without those that the caller has cleared.',
    reply: z.object({ items: z.array(Message) }),
  },
  clearMessages: {
    method: 'DELETE',
    path: '/api/v1/me/messages',
    access: 'user',
    summary:
      'Clear the messages to the caller up to one of them. Those about the account are put away and stay in its news. Safe to repeat.',
    query: z.object({ until: z.uuid().describe('Id of the newest message to clear.') }),
    status: 204,
    reply: z.void(),
  },
  listAccountNews: {
    method: 'GET',
    path: '/api/v1/me/account-news',
    access: 'user',
    summary: 'What happened with the caller’s account in the last 30 days, newest first. Nobody can delete it before.',
    query: Page,
    reply: pageOf(Message),
  },
} as const satisfies Record<string, RouteSpec>
