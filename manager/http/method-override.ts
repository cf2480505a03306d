import { type IncomingMessage } from 'node:http'

const UPLOAD = /^\/api\/v1\/folders\/[^/?]+\/uploads\/[^/?]+$/
const OVERRIDES: readonly string[] = ['PATCH', 'DELETE']

/**
 * Lets a client of tus that can send only GET and POST continue and end uploads: the header `X-HTTP-Method-Override` of a POST to an upload
 * names the method that is used from here on, also for signatures. On other requests the header is ignored.
 *
 * @see https://tus.io/protocols/resumable-upload#x-http-method-override
 */
export function overrideMethod(request: IncomingMessage): IncomingMessage {
  const named = request.headers['x-http-method-override']
  const isNamed = typeof named === 'string' && OVERRIDES.includes(named)
  if (isNamed && request.method === 'POST' && UPLOAD.test(request.url ?? '')) request.method = named
  return request
}
