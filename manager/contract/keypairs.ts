import { z } from 'zod'
import { UserId } from './ids.ts'
import { ACCESS_KEY } from './sign-request.ts'

/** `AKIA` and 80 random bits in base32. */
export const AccessKey = z.string().regex(ACCESS_KEY, 'must be AKIA and 16 letters or digits')
export type AccessKey = z.infer<typeof AccessKey>

/** Requests per 15 minutes. */
const RateLimit = z.int().min(1).max(1_000_000)
export const DEFAULT_RATE_LIMIT = 1000

export const Keypair = z
  .object({
    accessKey: AccessKey,
    userId: UserId,
    email: z.string(),
    active: z.boolean(),
    rateLimit: RateLimit.describe('Requests per 15 minutes.'),
    resourcePolicy: z.string().describe('Limits the sessions launched with the keypair.'),
    createdAt: z.iso.datetime(),
    lastUsedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Keypair' })
export type Keypair = z.infer<typeof Keypair>

/** Orders of a list of keypairs; falling with a `-`. A keypair that was never used counts as the oldest use. */
export const KEYPAIR_ORDERS = ['key', 'email', 'policy', 'rate', 'used', 'created', 'state'] as const
export type KeypairOrder = (typeof KEYPAIR_ORDERS)[number]
export const KeypairSort = z.enum(KEYPAIR_ORDERS.flatMap(order => [order, `-${order}`] as const))
export type KeypairSort = z.infer<typeof KeypairSort>

export const NewKeypair = Keypair.extend({
  secretKey: z.string().length(40).describe('Shown only in this answer.'),
}).meta({ id: 'NewKeypair' })
export type NewKeypair = z.infer<typeof NewKeypair>

/** Request for a keypair. Only admins name another `userId`; only superadmins set `rateLimit`. */
export const KeypairSpec = z
  .strictObject({ userId: UserId.optional(), rateLimit: RateLimit.optional(), active: z.boolean().default(true) })
  .meta({ id: 'KeypairSpec' })
export type KeypairSpec = z.infer<typeof KeypairSpec>

/** Change of a keypair. A key that is left out keeps its value. */
export const KeypairChange = z
  .strictObject({ rateLimit: RateLimit.optional(), active: z.boolean().optional() })
  .meta({ id: 'KeypairChange' })
export type KeypairChange = z.infer<typeof KeypairChange>
