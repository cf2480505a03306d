import { STATUS_CODES } from 'node:http'
import { type FastifyError, type FastifyReply, type FastifyRequest } from 'fastify'
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import { sizeText } from '#base/size-text'
import { AppError, because, type Because, isAppError, toProblem } from '#manager/contract'
import { type Log } from '../log.ts'
import { UNSTORABLE_TEXT } from '../store/storable-text.ts'
import { SECURITY_HEADERS } from './security-headers.ts'

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

/**
 * Sends the RFC 9457 document of an error and records its code for the audit log. An error that is no AppError is sent as `internal`,
 * without details of its cause; the error handler logs the cause.
 */
export function sendProblem(reply: FastifyReply, error: AppError): FastifyReply {
  const problem = toProblem(error)
  reply.request.outcome = { ...reply.request.outcome, code: error.code }
  const seconds = error.detail.retryAfterSeconds
  if (typeof seconds === 'number') void reply.header('retry-after', String(seconds))
  return reply.code(problem.status).type(PROBLEM_TYPE).send(JSON.stringify(problem))
}

export function createErrorHandler(log: Log) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
    const known = toAppError(error, request.routeOptions.bodyLimit)
    // A client that disconnects aborts its work, which is no failure.
    const isCutShort =
      (error.name === 'AbortError' && reply.raw.closed) || (error.code === 'ECONNRESET' && request.raw.readableAborted)
    if ((known.code === 'internal' || known.code === 'unavailable') && !isCutShort) {
      const where = { requestId: request.id, method: request.method, route: request.routeOptions.url }
      log.error({ ...where, err: error }, 'request failed')
    }
    // Fastify would close the connection while the client still sends, and the reset could overtake the answer. Instead Node discards the
    // rest of the body, within the deadline for bodies.
    if (known.code === 'body_too_large') void reply.removeHeader('connection')
    return sendProblem(reply, known)
  }
}

/** Fastify's own errors, as far as a client can cause them. @see https://fastify.dev/docs/latest/Reference/Errors/ */
const CLIENT_ERRORS: Readonly<Record<string, () => AppError>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: () => new AppError('bad_request', { why: 'The body is not valid JSON.' }),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new AppError('bad_request', { why: 'Send the body as JSON, with the header "content-type: application/json".' }),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new AppError('bad_request', { why: 'The length of the body differs from the header "content-length".' }),
  FST_ERR_BAD_URL: () => new AppError('bad_request', { why: 'The address has an invalid percent-encoding.' }),
  FST_ERR_MAX_PARAM_LENGTH: () => new AppError('bad_request', { why: 'The address is too long.' }),
}

const MiB = 2 ** 20

/** @param bodyLimit bytes that the route accepts */
export function toAppError(error: unknown, bodyLimit = MiB): AppError {
  if (isAppError(error)) return error
  if (hasZodFastifySchemaValidationErrors(error)) {
    const fields = error.validation.slice(0, MOST_FIELDS).map(issue => ({
      path: issue.instancePath.split('/').filter(Boolean).join('.') || partOf(error.validationContext),
      message: issue.message ?? 'is not valid',
    }))
    return new AppError('bad_request', { ...fieldsCause(fields, error.validation.length), fields }, { cause: error })
  }
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new AppError('body_too_large', because('request_too_long', { limit: sizeText(bodyLimit) }))
  }
  const client = typeof code === 'string' ? CLIENT_ERRORS[code] : undefined
  if (client) return client()
  if (error instanceof SyntaxError && statusCode === 400) {
    return new AppError('bad_request', { why: 'The body is not valid JSON.' }, { cause: error })
  }
  if (typeof code === 'string' && UNSTORABLE.has(code)) {
    return new AppError('bad_request', { why: UNSTORABLE_TEXT }, { cause: error })
  }
  if (code === DISK_FULL) {
    return new AppError('disk_full', because('database_disk_full'), { cause: error })
  }
  if (isDatabaseGone(code, error)) {
    return new AppError('unavailable', because('database_away'), { cause: error })
  }
  return new AppError('internal', {}, { cause: error })
}

/** The invalid part of a request, in the words of the API. */
function partOf(context: string | undefined): string {
  return context === 'querystring' ? 'query' : (context ?? 'body')
}

/**
 * Most fields that an answer names: after fixing these, a client repeats the request. Thousands of fields would be far longer than the
 * request.
 */
const MOST_FIELDS = 20

function fieldsCause([first]: readonly { path: string; message: string }[], count: number): Because {
  if (!first) return because('request_form')
  const named = { field: first.path, text: first.message }
  return count === 1 ? because('field_wrong', named) : because('fields_wrong', { ...named, count: count - 1 })
}

/** SQLSTATE of PostgreSQL. */
const DISK_FULL = '53100'
/** SQLSTATEs for U+0000 in text and in JSON, from a query or a path. Our own text never contains it, so the client sent it. */
const UNSTORABLE: ReadonlySet<string> = new Set(['22021', '22P05'])

/**
 * Classes 08 connection exception, 53 insufficient resources, 57P shutdown; 57014 and 55P03, a statement that took too long or
 * waited too long for a lock; and socket errors. A connection that breaks is `unavailable` before it gets here (`guarded-pool.ts`).
 */
function isDatabaseGone(code: unknown, error: unknown): boolean {
  if (typeof code === 'string' && /^(08...|53...|57P..|57014|55P03|ECONNREFUSED|ECONNRESET|EPIPE)$/.test(code)) {
    return true
  }
  return error instanceof Error && 'syscall' in error && error.syscall === 'connect'
}

/** Problem as a raw HTTP response, for sockets that never became a request and for refused upgrades. */
export function rawProblem(error: AppError): string {
  const problem = toProblem(error)
  const body = JSON.stringify(problem)
  const seconds = error.detail.retryAfterSeconds
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? 'Error'}`,
    `content-type: ${PROBLEM_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    ...Object.entries(SECURITY_HEADERS).map(([name, value]) => `${name}: ${value}`),
    ...(typeof seconds === 'number' ? [`retry-after: ${seconds}`] : []),
    'connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
