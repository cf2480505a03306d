import { z } from 'zod'

/** How urgent an announcement is, in rising order. */
export const ANNOUNCEMENT_LEVELS = ['info', 'warning', 'critical'] as const

/** The announcement of the administrators as one signed-in person gets it. */
export const Announcement = z
  .object({
    id: z.string().nullable().describe('Changes with the text and the level; null if nothing is announced now.'),
    text: z.string().nullable().describe('Markdown; null if nothing is announced now. HTML in it is text.'),
    level: z.enum(ANNOUNCEMENT_LEVELS),
    until: z.iso.datetime().nullable().describe('End of the period; null if it has none.'),
    dismissed: z.boolean().describe('The caller has dismissed this announcement.'),
    changesAt: z.iso
      .datetime()
      .nullable()
      .describe('When its period begins or ends, and this answer changes by itself; null if it does not.'),
  })
  .meta({ id: 'Announcement' })
export type Announcement = z.infer<typeof Announcement>

/** The answer while nothing is announced, and no announcement is scheduled. */
export const NO_ANNOUNCEMENT: Announcement = {
  id: null,
  text: null,
  level: 'info',
  until: null,
  dismissed: false,
  changesAt: null,
}
