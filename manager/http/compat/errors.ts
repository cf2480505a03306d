import { type FastifyReply } from 'fastify'
import { AppError, type ErrorCode, toProblem } from '#manager/contract'
import { PROBLEM_TYPE } from '../problems.ts'

/** Thrown for what the original system has and Berth does not, or not yet. */
export class NotOffered extends Error {
  override readonly name = 'NotOffered'
}

/** The document that clients of the original print: status, reason and `title`. */
export interface OriginalProblem {
  readonly type: string
  readonly title: string
  readonly msg: string
  /** Code of Berth, as docs/errors.md explains it. */
  readonly error_code: string
  readonly data?: unknown
}

const TYPE = 'https://api.backend.ai/probs/'

/** Names by which programs tell errors of the original apart. Others have one by their status. */
const SLUGS: Readonly<Partial<Record<ErrorCode, string>>> = {
  session_not_found: 'session-not-found',
  app_not_found: 'app-not-found',
  image_not_found: 'image-not-found',
  group_not_found: 'group-not-found',
  domain_not_found: 'domain-not-found',
  resource_group_not_found: 'scaling-group-not-found',
  folder_not_found: 'vfolder-not-found',
  session_name_taken: 'session-already-exists',
  bad_request: 'invalid-api-params',
  login_failed: 'auth-failed',
  kernel_create_failed: 'kernel-creation-failed',
}
const SLUGS_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'generic-bad-request',
  401: 'auth-failed',
  403: 'generic-forbidden',
  404: 'generic-not-found',
  405: 'method-not-allowed',
  409: 'generic-bad-request',
  412: 'quota-exceeded',
  429: 'rate-limit-exceeded',
  503: 'service-unavailable',
}

/** The status and the document of an error. Clients print only the title, so it has the whole sentence. */
export function originalProblem(error: unknown): { readonly status: number; readonly problem: OriginalProblem } {
  if (error instanceof NotOffered) {
    const { message } = error
    return {
      status: 501,
      problem: { type: `${TYPE}not-implemented`, title: message, msg: message, error_code: 'not_found' },
    }
  }
  const { status, title, detail = title, code, data } = toProblem(error)
  const slug =
    SLUGS[code as ErrorCode] ??
    SLUGS_OF_STATUS[status] ??
    (status < 500 ? 'generic-bad-request' : 'internal-server-error')
  const sentence = detail === title ? title : `${title}: ${detail}`
  return {
    status,
    problem: { type: TYPE + slug, title: sentence, msg: detail, error_code: code, ...(data ? { data } : {}) },
  }
}

export function sendOriginalProblem(reply: FastifyReply, error: unknown): FastifyReply {
  const { status, problem } = originalProblem(error)
  const seconds = error instanceof AppError ? error.detail.retryAfterSeconds : undefined
  if (typeof seconds === 'number') void reply.header('retry-after', String(seconds))
  return reply.code(status).type(PROBLEM_TYPE).send(JSON.stringify(problem))
}
