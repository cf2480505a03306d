import { type z } from 'zod'
import { invalid } from './scim-error.ts'
import { spelled } from './spelling.ts'

/** A resource as a client sent it, in any case, without what Berth does not keep. @throws ScimError `invalidValue`, which names the attribute */
export function readResource<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(spelled(body))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw invalid(`${issue?.path.join('.') ?? 'The body'}: ${issue?.message ?? 'is not valid'}`)
}
