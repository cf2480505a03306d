import { z } from 'zod'

/** A visit of the caller to the console, from whatever computer. */
export const Visit = z
  .object({
    since: z.iso
      .datetime()
      .nullable()
      .describe('End of the visit before this one; what changed since then is news. Null on the first visit.'),
  })
  .meta({ id: 'Visit' })
export type Visit = z.infer<typeof Visit>
