import { z } from 'zod'

export const Scheduling = z
  .object({
    paused: z
      .object({ since: z.iso.datetime(), why: z.enum(['restored', 'by_admin']) })
      .nullable()
      .describe('While scheduling is paused, no session is placed or started. Running sessions continue.'),
  })
  .meta({ id: 'Scheduling' })
export type Scheduling = z.infer<typeof Scheduling>
