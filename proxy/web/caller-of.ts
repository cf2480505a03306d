import { type IncomingMessage } from 'node:http'
import { networksOf } from '#base/network-of'
import { ORIGIN_SECRET_HEADER, ROUTES, type RouteSpec } from '#manager/contract'
import { type Caller } from './fair-call-queue.ts'
import { readPath } from './read-path.ts'

/** Paths whose answers need neither a sign-in nor a secret in the address. */
const OPEN_TO_ALL: ReadonlySet<string> = new Set([
  '/api/v1/openapi.json',
  ...Object.values<RouteSpec>(ROUTES)
    .filter(({ access, path }) => access === 'none' && !path.includes('/:'))
    .map(({ path }) => path),
])

/**
 * The caller of a request. Where the manager requires a sign-in, a request with a wrong one only gets a short refusal, so its claim can be
 * believed here.
 */
export function callerOf({ url = '', headers }: IncomingMessage, address: string): Caller {
  const isStranger = OPEN_TO_ALL.has(readPath(url))
  // A signature differs from request to request, its keypair does not.
  const signIn = headers.authorization?.split(',', 1)[0] ?? headers[ORIGIN_SECRET_HEADER]
  const isNamed = !isStranger && typeof signIn === 'string'
  const networks = networksOf(address).toReversed()
  return { isStranger, branch: [...networks, isNamed ? signIn : ''] }
}
