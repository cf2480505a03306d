import { type IncomingMessage } from 'node:http'
import { type FastifyRequest } from 'fastify'
import { networksOf } from '#base/network-of'
import { clientAddress } from './origin.ts'

/** Name under which a request takes turns with others: its person, the console, or the network of a stranger. */
export function senderOf({ credentials, raw, routeOptions }: FastifyRequest): string {
  if (credentials) return credentials.caller.userId
  return routeOptions.config.access === 'console' ? 'console' : strangerOf(raw)
}

/** The network of a sender who has proved nothing yet. */
export const strangerOf = (request: IncomingMessage): string => networksOf(clientAddress(request))[0]
