import { z } from 'zod'
import { TextOf, TextUpTo } from '../plain-text.ts'
import { SessionId, UserId } from '../ids.ts'
import { UUID } from '#base/shapes'

export const PublishedAppId = TextOf(36, UUID, 'must be an id').brand<'PublishedAppId'>()
export type PublishedAppId = z.infer<typeof PublishedAppId>

/** Path at a published app that belongs to us; it accepts the key of the link, and the password. */
export const PUBLIC_OPEN_PATH = '/_berth/open'

/** An address or a range in CIDR notation; the manager checks the rest. */
const AllowedAddress = TextUpTo(49).regex(
  /^[0-9A-Fa-f:.]+(\/\d{1,3})?$/,
  'must be an address such as 203.0.113.7, or a range such as 203.0.113.0/24',
)

/** How an app is opened to people without an account. */
export const PublishSpec = z
  .strictObject({
    hours: z
      .number()
      .min(0.05)
      .max(8_760)
      .default(8)
      .describe('The link ends after this many hours; the administrators set the most.'),
    password: TextUpTo(1024).min(1).optional().describe('Visitors have to enter it.'),
    addresses: z
      .array(AllowedAddress)
      .max(32)
      .default([])
      .describe('Only visitors from these addresses; empty for any.'),
    port: z
      .int()
      .min(1)
      .max(65_535)
      .optional()
      .describe('Tried first, where apps are published at ports; otherwise ignored.'),
  })
  .meta({ id: 'PublishSpec' })
export type PublishSpec = z.infer<typeof PublishSpec>

export const PublishedApp = z
  .object({
    id: PublishedAppId,
    sessionId: SessionId,
    sessionName: z.string(),
    app: z.string(),
    title: z.string(),
    ownerId: UserId,
    owner: z.string().describe('E-mail address.'),
    url: z.string().nullable().describe('The link. Only the owner reads it.'),
    port: z.int().nullable(),
    hasPassword: z.boolean(),
    addresses: z.array(z.string()),
    createdAt: z.iso.datetime(),
    expiresAt: z.iso.datetime(),
    visits: z.int().describe('Number of times that a visitor was let in.'),
    lastVisitAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'PublishedApp' })
export type PublishedApp = z.infer<typeof PublishedApp>

/** Whether and how apps may be published here. */
export const Publishing = z
  .object({
    on: z.boolean().describe('The administrators allow it, and an address for published apps is set up.'),
    maxHours: z.number(),
    ports: z
      .object({ first: z.int(), last: z.int() })
      .nullable()
      .describe('Range of the ports, where apps are published at ports.'),
  })
  .meta({ id: 'Publishing' })
export type Publishing = z.infer<typeof Publishing>

/** Why a link has ended. `withdrawn`: by its owner or an administrator, or because the account has ended. */
export const LINK_ENDS = ['withdrawn', 'expired', 'app_ended'] as const
export type LinkEnd = (typeof LINK_ENDS)[number]

/** Links that had an address, for the console, which tells whoever held one of them why it has ended. */
export const EndedLinks = z.object({
  items: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      why: z.enum(LINK_ENDS),
      /** Whether the key that was shown is that of this link. */
      isShown: z.boolean(),
      /** As in ServedApp. */
      visitSecret: z.string(),
    }),
  ),
})
export type EndedLinks = z.infer<typeof EndedLinks>

/** An app as the console serves it at its own address. Holds secrets: only the console gets it. */
export const ServedApp = z.object({
  id: z.string(),
  name: z.string(),
  port: z.int().nullable(),
  sessionId: SessionId,
  sessionName: z.string(),
  app: z.string(),
  title: z.string(),
  /** Path of the first page. */
  path: z.string(),
  /** `links`: everybody with the link. `tickets`: the person for whom the app is served, with a ticket. */
  admits: z.enum(['links', 'tickets']),
  needsPassword: z.boolean(),
  addresses: z.array(z.string()),
  expiresAt: z.iso.datetime(),
  /** Secret that signs the cookies of visitors. */
  visitSecret: z.string(),
})
export type ServedApp = z.infer<typeof ServedApp>

/** Credentials with which a visitor enters. */
export const Visit = z.strictObject({
  key: TextUpTo(200),
  password: TextUpTo(1024).optional(),
})
export type Visit = z.infer<typeof Visit>
