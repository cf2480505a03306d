import { z } from 'zod'
import { UserId } from '../ids.ts'
import { SecondFactor } from './accounts.ts'
import { ResourcePolicyName } from '../quotas/policy-name.ts'
import { ACCESS_KEY } from '../client/sign-request.ts'
import { TextOf, TextUpTo, TrimmedText } from '../plain-text.ts'
import { sortBy } from '../sort.ts'

/** `AKIA` and 80 random bits in base32. */
export const AccessKey = TextOf(20, ACCESS_KEY, 'must be AKIA and 16 letters or digits')
export type AccessKey = z.infer<typeof AccessKey>

/** Requests per 15 minutes. */
const RateLimit = z.int().min(1).max(1_000_000)
export const DEFAULT_RATE_LIMIT = 1000

/** The longest name of a keypair. */
export const KEYPAIR_NAME_LENGTH = 64
const KeypairName = TrimmedText(KEYPAIR_NAME_LENGTH)

export const Keypair = z
  .object({
    accessKey: AccessKey,
    name: z.string().describe('What it is for, in the words of its owner; may be empty.'),
    userId: UserId,
    email: z.string(),
    active: z.boolean(),
    rateLimit: RateLimit.describe('Requests per 15 minutes.'),
    resourcePolicy: z.string().describe('Limits the sessions launched with the keypair.'),
    createdBy: z.string().nullable().describe('Address of whoever made it for its owner; null: the owner did.'),
    waits: z
      .boolean()
      .describe('Made by somebody else: it opens nothing, and nobody has its secret, until its owner accepts it.'),
    createdAt: z.iso.datetime(),
    lastUsedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Keypair' })
export type Keypair = z.infer<typeof Keypair>

/** Orders of a list of keypairs; with `-`, descending. A keypair that was never used counts as the one with the oldest use. */
export const KEYPAIR_ORDERS = ['key', 'email', 'policy', 'rate', 'used', 'created', 'state'] as const
export type KeypairOrder = (typeof KEYPAIR_ORDERS)[number]
export const KeypairSort = sortBy(KEYPAIR_ORDERS)
export type KeypairSort = z.infer<typeof KeypairSort>

export const NewKeypair = Keypair.extend({
  secretKey: TextUpTo(40).length(40).describe('Shown only in this answer.'),
}).meta({ id: 'NewKeypair' })
export type NewKeypair = z.infer<typeof NewKeypair>

/** Smallest number of different characters of a chosen secret key: excludes texts that somebody typed without a generator. */
const DIFFERENT = 12

/** Whether a chosen secret key has the form of Berth's own keys, and could be random. */
export const isSecretKey = (text: string): boolean =>
  /^[A-Za-z0-9_-]{40}$/.test(text) && new Set(text).size >= DIFFERENT

const settings = {
  name: KeypairName.optional().describe('What it is for, such as the program that uses it.'),
  rateLimit: RateLimit.optional(),
  resourcePolicy: ResourcePolicyName.optional().describe('Default: `default`.'),
}

/** Request for a keypair of somebody else. Only superadmins set limits. */
export const UserKeypairSpec = z.strictObject(settings).meta({ id: 'UserKeypairSpec' })
export type UserKeypairSpec = z.infer<typeof UserKeypairSpec>

/** Proof of the person's identity, needed where their sign-in is older than 10 minutes. */
const PersonProof = {
  password: TextUpTo(1024).optional().describe('After `proof_required`: your password.'),
  totp: SecondFactor.optional().describe('After `totp_required`: the code from the authenticator app.'),
}
export const KeypairAcceptance = z.strictObject(PersonProof).meta({ id: 'KeypairAcceptance' })
export type KeypairAcceptance = z.infer<typeof KeypairAcceptance>

/** Request for a keypair of one's own. Only admins choose the keys; only superadmins set `rateLimit` and `resourcePolicy`. */
export const KeypairSpec = z
  .strictObject({
    ...settings,
    ...PersonProof,
    active: z.boolean().default(true),
    accessKey: AccessKey.optional().describe('A key that exists elsewhere; left out: a random one. With `secretKey`.'),
    secretKey: TextUpTo(200)
      .refine(isSecretKey, `must be 40 random letters, digits, "-" or "_", ${DIFFERENT} of them different`)
      .optional(),
  })
  .refine(({ accessKey, secretKey }) => (accessKey === undefined) === (secretKey === undefined), {
    message: 'name both keys, or none',
    path: ['secretKey'],
  })
  .meta({ id: 'KeypairSpec' })
export type KeypairSpec = z.infer<typeof KeypairSpec>

/** Change of a keypair. A key that is left out keeps its value. */
export const KeypairChange = z
  .strictObject({
    name: KeypairName.optional(),
    rateLimit: RateLimit.optional(),
    resourcePolicy: ResourcePolicyName.optional(),
    active: z.boolean().optional(),
  })
  .meta({ id: 'KeypairChange' })
export type KeypairChange = z.infer<typeof KeypairChange>
