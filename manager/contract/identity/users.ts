import { z } from 'zod'
import { DomainName, GroupRef } from './domains.ts'
import { UserId } from '../ids.ts'
import { PlainLines, PlainText, TextUpTo, TrimmedText } from '../plain-text.ts'
import { LoginId } from './logins.ts'
import { ResourcePolicyName } from '../quotas/policy-name.ts'
import { TokenScope } from './scopes.ts'
import { sortBy } from '../sort.ts'

/** Roles in rising order: each may do more than the one before. */
export const Role = z.enum(['user', 'domain_admin', 'superadmin'])
export type Role = z.infer<typeof Role>

/** The person who chose a password. `unknown`: an admin of the domain may know it. */
export const PASSWORD_FROM = ['person', 'superadmin', 'administrator', 'unknown'] as const
export type PasswordFrom = (typeof PASSWORD_FROM)[number]

/** Orders of a list of users; with `-`, descending. Users with the same value are ordered by age. */
export const USER_ORDERS = ['created', 'email', 'name', 'role', 'domain'] as const
export type UserOrder = (typeof USER_ORDERS)[number]
export const UserSort = sortBy(USER_ORDERS)
export type UserSort = z.infer<typeof UserSort>

export const User = z
  .object({
    id: UserId,
    email: z.string(),
    name: z.string(),
    description: z.string().describe('A note about the account, which the user sees too.'),
    role: Role,
    domain: z.string(),
    groups: z.array(GroupRef).describe('Projects that the user is in, by name.'),
    active: z.boolean(),
    emailVerified: z
      .boolean()
      .describe('False: the user has signed up, but must confirm the address before signing in.'),
    secondFactor: z.boolean().describe('Signing in needs a code from an authenticator app.'),
    mustChangePassword: z.boolean().describe('The next sign-in with the password has to set a new one.'),
    passwordFrom: z
      .enum([...PASSWORD_FROM, 'nobody'])
      .describe(
        'Whose choice the password is; `unknown`: an admin of the domain may know it; `nobody`: there is none that anybody knows. ' +
          'A password that is not the person’s own ends with a higher role and a move to another domain.',
      ),
    resourcePolicy: z.string().describe('Limits all sessions of the user together.'),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'User' })
export type User = z.infer<typeof User>

/** The rule as text is the cause `password_rule`, which does not name the upper limit of 1024 characters. */
export function isStrongPassword(password: string): boolean {
  return (
    password.length >= 8 &&
    password.length <= 1024 &&
    /\p{L}/u.test(password) &&
    /\p{N}/u.test(password) &&
    /[^\p{L}\p{N}\s]/u.test(password)
  )
}

/** E-mail address. The domain `localhost` is accepted too: `admin@localhost` is the first administrator. */
export const Email = TrimmedText(254)
  .refine(
    text => z.email().safeParse(text).success || /^[^\s@\p{C}<>,;:"]+@localhost$/u.test(text),
    'must be an e-mail address, such as ada@example.org',
  )
  .meta({ format: 'email' })

export const GroupNames = z.array(PlainText(64).min(1)).max(200)

/** Fields that an administrator sets when the account is created, and can change individually later. */
const given = {
  description: PlainLines(500).describe('A note about the account.'),
  mustChangePassword: z
    .boolean()
    .describe('The next sign-in with the password has to set a new one; nothing else is possible before.'),
  resourcePolicy: ResourcePolicyName.describe('Limits of the user; only superadmins set it.'),
}

export const UserSpec = z
  .strictObject({
    email: Email,
    name: PlainText(64).min(1),
    password: TextUpTo(1024),
    role: Role.default('user'),
    domain: DomainName.optional().describe('Default: your own domain.'),
    groups: GroupNames.optional().describe('Ids or names of groups of the domain. Default: its group "default".'),
    description: given.description.default(''),
    mustChangePassword: given.mustChangePassword
      .default(true)
      .describe(
        'Default: true. Only superadmins let the password stay that they have chosen, for accounts of programs.',
      ),
    resourcePolicy: given.resourcePolicy.optional(),
  })
  .meta({ id: 'UserSpec' })
export type UserSpec = z.infer<typeof UserSpec>

/**
 * Change of a user. A key that is left out keeps its value. Deactivation and a new role, domain or password end every
 * sign-in of the user. In a new domain the user joins the named groups, or the group `default` if none are named.
 */
export const UserChange = z
  .strictObject({
    name: PlainText(64).min(1).optional(),
    role: Role.optional(),
    domain: DomainName.optional(),
    groups: GroupNames.optional().describe(
      'Ids or names of all groups of the user; the user leaves other groups. No mapping of a sign-in provider takes these back.',
    ),
    active: z.boolean().optional(),
    password: TextUpTo(1024)
      .optional()
      .describe('The person replaces it at the next sign-in. Where mail reaches the person, only superadmins set one.'),
    description: given.description.optional(),
    mustChangePassword: given.mustChangePassword.optional(),
    resourcePolicy: given.resourcePolicy.optional(),
  })
  .meta({ id: 'UserChange' })
export type UserChange = z.infer<typeof UserChange>

/** The signed-in user. */
export const Me = z
  .object({
    user: User,
    expiresAt: z.iso.datetime(),
    accessToken: z
      .object({ id: LoginId, name: z.string(), scopes: z.array(TokenScope) })
      .optional()
      .describe('The access token of this request, if it has one.'),
  })
  .meta({ id: 'Me' })
export type Me = z.infer<typeof Me>
