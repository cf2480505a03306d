import { Readable } from 'node:stream'
import { type FastifyRequest } from 'fastify'
import { z } from 'zod'
import { AppError } from '#manager/contract'
import { hasManyJsonParts, JSON_PARTS } from '../json-parts.ts'

/** Most bytes of a body that is read as a whole. */
export const BODY_LIMIT = 1024 * 1024

/** The bytes of a body. @throws AppError `body_too_large` */
export async function readBytes(request: FastifyRequest, limit = BODY_LIMIT): Promise<Buffer> {
  const { body } = request
  if (!(body instanceof Readable)) return Buffer.alloc(0)
  const parts: Buffer[] = []
  let size = 0
  for await (const part of body as AsyncIterable<Buffer>) {
    size += part.length
    if (size > limit) throw new AppError('body_too_large', { why: `At most ${limit / 1024} KiB are accepted.` })
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** The body as JSON; an empty object if there is none. @throws AppError `bad_request`, `body_too_large` */
export async function readJson(request: FastifyRequest): Promise<unknown> {
  const text = (await readBytes(request)).toString()
  if (text.trim() === '') return {}
  if (hasManyJsonParts(text, JSON_PARTS.usual))
    throw new AppError('bad_request', { why: 'The body has too many parts.' })
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new AppError('bad_request', { why: 'The body is not valid JSON.' })
  }
}

/**
 * Parameters of a request: clients send them in the query, or as JSON in the body, also of a GET; the body wins. What is not set is null in
 * them, which counts as left out. Fields that the schema does not know are dropped, because versions of the client send different ones.
 *
 * @throws AppError `bad_request` that names the field
 */
export async function readInput<T extends z.ZodObject>(request: FastifyRequest, schema: T): Promise<z.output<T>> {
  const body = await readJson(request)
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new AppError('bad_request', { why: 'The body must be an object.' })
  const query = request.query as Record<string, unknown>
  return parseInput(schema, { ...query, ...(withoutNulls(body) as object) })
}

export function parseInput<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const parsed = schema.safeParse(withoutNulls(value))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where = issue?.path.join('.') ?? ''
  throw new AppError('bad_request', {
    why: `${where === '' ? 'The request' : where}: ${issue?.message ?? 'is not valid'}`,
  })
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter(item => item !== null).map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, held]) => (held === null ? [] : [[key, withoutNulls(held)]])),
  )
}

/** A flag as clients send it: JSON, or `true`, `1` and the like in a query. */
export const Flag = z.union([z.boolean(), z.stringbool()])
/** A number or a text that stands for one. */
export const NumberText = z.union([z.string().max(64), z.number()]).transform(String)
