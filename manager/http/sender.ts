import { type FastifyRequest } from 'fastify'
import { networksOf } from '#base/network-of'
import { clientAddress } from './origin.ts'

/** Name under which a request takes turns with others: its person, or the network of a stranger. */
export function senderOf({ credentials, raw }: Pick<FastifyRequest, 'credentials' | 'raw'>): string {
  return credentials?.caller.userId ?? networksOf(clientAddress(raw))[0]
}
