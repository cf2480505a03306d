import { type IncomingMessage, type ServerResponse } from 'node:http'
import { AppError } from '#manager/contract'
import { answerProblem } from '../answers.ts'
import { SECURITY_HEADERS } from '../security-headers.ts'

export interface PlainAnswersDeps {
  /** Whether this server answers to a host name, given without port. */
  readonly isOurs: (name: string) => boolean
  /** Port of https, if it differs from that of the request. */
  readonly httpsPort?: number | undefined
  /** Answer to a challenge of a certificate authority (RFC 8555 section 8.3), by its token. */
  readonly challenge?: ((token: string) => string | undefined) | undefined
}

const CHALLENGE = /^\/\.well-known\/acme-challenge\/([\w-]{1,200})$/

/**
 * Answers requests that came without TLS: redirects to the same address in https, or gives the proof that a certificate authority requests.
 *
 * Threat model: such a request could be read and changed on its way, so no content is ever served for it. It redirects only to names of
 * this server: otherwise links could lead anywhere. A request that changes something is refused instead, because its sender has already
 * shown its credentials to everybody on the way, and should learn of it. The redirect is a temporary one: browsers keep permanent ones for
 * ever, also after TLS was turned off.
 */
export function createPlainAnswers({ isOurs, httpsPort, challenge }: PlainAnswersDeps) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    const target = request.url ?? ''
    const [, token] = CHALLENGE.exec(target) ?? []
    const proof = token === undefined ? undefined : challenge?.(token)
    if (proof !== undefined) {
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'cache-control': 'no-store' }).end(proof)
      return
    }
    const host = request.headers.host?.toLowerCase() ?? ''
    const [, name] = /^([\w.-]{1,253}|\[[0-9a-f:]+\])(?::\d{1,5})?$/.exec(host) ?? []
    if (name === undefined || !isOurs(name.replace(/^\[|\]$/g, ''))) {
      answerProblem(response, new AppError('foreign_origin', { why: 'This server does not answer to that host name.' }))
      return
    }
    const authority = httpsPort === undefined ? host : httpsPort === 443 ? name : `${name}:${httpsPort}`
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      const why = `This server speaks https only: use https://${authority}. What you sent was not encrypted on its way.`
      answerProblem(response, new AppError('bad_request', { why }))
      return
    }
    const location = `https://${authority}${target.startsWith('/') ? target : '/'}`
    response.writeHead(307, { ...SECURITY_HEADERS, location, 'cache-control': 'no-store' }).end()
  }
}
