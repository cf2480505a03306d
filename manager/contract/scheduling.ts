import { z } from 'zod'

export const Scheduling = z
  .object({
    paused: z
      .object({ since: z.iso.datetime(), why: z.enum(['restored', 'by_admin']) })
      .nullable()
      .describe('While it is paused nothing is placed or started; what runs goes on.'),
  })
  .meta({ id: 'Scheduling' })
export type Scheduling = z.infer<typeof Scheduling>
