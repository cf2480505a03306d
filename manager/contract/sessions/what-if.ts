import { z } from 'zod'
import { CauseFields } from '../causes/fields.ts'
import { Reason } from './reasons.ts'

/** Says that Berth has changed a request, or that an answer leaves something out. */
export const Notice = z.object({
  code: z.enum([
    'raised_to_minimum',
    'shmem_lowered',
    'network_by_default',
    'first_of_several',
    'dot_folders_left_out',
    'image_from_host',
  ]),
  message: z.string(),
  ...CauseFields,
})
export type Notice = z.infer<typeof Notice>

/** Forecast for a request: what would happen if it were made now. */
export const WhatIf = z
  .object({
    startsNow: z.boolean(),
    reason: Reason.nullable().describe('Reason for waiting, with `expectedBy` only if known.'),
    smaller: z
      .array(z.object({ slot: z.enum(['cpu', 'mem', 'cuda.device', 'cuda.shares']), amount: z.string() }))
      .describe(
        'Changes of a single slot, each of which would let the request start at once; the smallest change first.',
      ),
    notices: z.array(Notice),
  })
  .meta({ id: 'WhatIf' })
export type WhatIf = z.infer<typeof WhatIf>
