import { type Messages } from '../../sessions/messages.ts'
import { type Handlers } from '../handlers.ts'

export function createMessageRoutes(
  messages: Messages,
): Pick<Handlers, 'sendMessage' | 'listMessages' | 'clearMessages' | 'listAccountNews'> {
  return {
    sendMessage: ({ caller }, { body }) => messages.send(caller, body),
    listMessages: async ({ caller }) => ({ items: await messages.list(caller) }),
    clearMessages: ({ caller }, { query }) => messages.clear(caller, query.until),
    listAccountNews: ({ caller }, { query }) => messages.listAccountNews(caller, query),
  }
}
