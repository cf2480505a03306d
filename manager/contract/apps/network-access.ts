import { z } from 'zod'
import { ALLOWED_NAME, MOST_ALLOWED_NAMES, MOST_NAME, NETWORK_MODES } from './network-names.ts'
import { TextOf } from '../plain-text.ts'

export * from './network-names.ts'

export const AllowedName = TextOf(
  MOST_NAME,
  ALLOWED_NAME,
  'must be a host name such as "pypi.org", or "*.pypi.org" for all names below it',
)

const NamesOrNull = z.array(AllowedName).max(MOST_ALLOWED_NAMES).nullable()

/** The most that a resource policy or a domain allows. */
export const BoundNames = NamesOrNull.describe(
  'Names that sessions may reach, by an allow list; an empty list: sessions have no network. Null = everything.',
)

/** The network that a resource policy or a domain gives to a session whose launch chooses none. */
export const DefaultNames = NamesOrNull.describe(
  'Names that a session reaches if its launch chooses no network; an empty list: none. Null = as much as is allowed.',
)

/** The part of the outside that a session may reach. */
export const NetworkAccess = z
  .strictObject({
    mode: z
      .enum(NETWORK_MODES)
      .describe(
        'full: the internet and what the host reaches. none: nothing outside the session. allowlist: HTTP and HTTPS to the names, through a proxy of the host.',
      ),
    names: z
      .array(AllowedName)
      .max(MOST_ALLOWED_NAMES)
      .optional()
      .describe('For an allowlist: host names, with "*." at the begin for all names below.'),
  })
  .refine(({ mode, names = [] }) => (mode === 'allowlist') === names.length > 0, {
    path: ['names'],
    message: 'an allowlist needs names, and other modes have none',
  })
  .meta({ id: 'NetworkAccess', description: 'What a session may reach outside itself.' })
export type NetworkAccess = z.infer<typeof NetworkAccess>
