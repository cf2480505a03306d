import { type SessionQueue } from '../../sessions/queue.ts'
import { type Handlers } from '../handlers.ts'

export function createQueueRoutes({
  queue,
}: {
  queue: SessionQueue
}): Pick<Handlers, 'listQueue' | 'listReservations'> {
  return {
    listQueue: ({ caller }, { query }) => queue.list(caller, query),
    listReservations: async ({ caller }, { query }) => ({
      items: await queue.reservations(caller, query.resourceGroup),
    }),
  }
}
