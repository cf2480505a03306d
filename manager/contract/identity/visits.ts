import { z } from 'zod'

/** The caller's visit to the console, from any computer. */
export const ConsoleVisit = z
  .object({
    since: z.iso
      .datetime()
      .nullable()
      .describe('End of the visit before this one; what changed since then is news. Null on the first visit.'),
  })
  .meta({ id: 'ConsoleVisit' })
export type ConsoleVisit = z.infer<typeof ConsoleVisit>
