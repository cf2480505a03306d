import { type FastifyRequest } from 'fastify'
import { networksOf } from '#base/network-of'
import { clientAddress } from './origin.ts'

/** Name under which a request takes turns with others: its person, the console, or the network of a stranger. */
export function senderOf({ credentials, raw, routeOptions }: FastifyRequest): string {
  if (credentials) return credentials.caller.userId
  return routeOptions.config.access === 'console' ? 'console' : networksOf(clientAddress(raw))[0]
}
