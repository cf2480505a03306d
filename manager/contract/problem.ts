import { z } from 'zod'

/** RFC 9457 problem document; `type` is `urn:berth:error:<code>`. */
export const Problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    detail: z.string().optional(),
    code: z.string(),
    retry: z.boolean(),
    data: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'Problem' })
export type Problem = z.infer<typeof Problem>
