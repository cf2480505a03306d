import { z } from 'zod'
import { CauseFields } from '../causes/fields.ts'
import { DomainName } from './domains.ts'
import { UserId } from '../ids.ts'
import { MailAddress, PlainText, TextUpTo, TrimmedLines, TrimmedText } from '../plain-text.ts'
import { ResourcePolicyName } from '../quotas/policy-name.ts'
import { GroupNames, User } from './users.ts'

/** Token that we issued for an invitation, or for a link that confirms an address or resets a password. */
export const LinkToken = TextUpTo(200).min(16)

export const SignUpSpec = z
  .strictObject({
    email: MailAddress,
    name: TrimmedText(64).min(1),
    password: TextUpTo(1024),
    invitation: LinkToken.optional(),
    acceptTerms: z.boolean().optional().describe('Required where the options name terms or a privacy policy.'),
  })
  .meta({ id: 'SignUpSpec' })
export type SignUpSpec = z.infer<typeof SignUpSpec>

/**
 * Next step after a sign-up. The reply is the same for every address: only the address's owner learns, by mail, whether it had an account
 * before. `verify_email`: a link was mailed; `ask_admin`: an admin hands the link out; `sign_in`: nothing more to do.
 */
export const SignUpReply = z.object({ next: z.enum(['verify_email', 'ask_admin', 'sign_in']) })
export type SignUpReply = z.infer<typeof SignUpReply>

/** A stranger's request for an account, if the settings let an admin decide. */
export const SignUpRequestSpec = SignUpSpec.omit({ password: true, invitation: true })
  .extend({ note: TrimmedLines(1000).default('').describe('What the account is for.') })
  .meta({ id: 'SignUpRequestSpec' })
export type SignUpRequestSpec = z.infer<typeof SignUpRequestSpec>

/** Next step after a request. The reply is the same for every address. */
export const SignUpRequestReply = z.object({ next: z.enum(['confirm_email', 'wait']) })
export type SignUpRequestReply = z.infer<typeof SignUpRequestReply>

/** A request that waits for the decision of an admin. */
export const SignUpRequest = z
  .object({
    id: z.uuid(),
    email: z.string(),
    name: z.string(),
    note: z.string().describe('What the person wrote. Nobody has checked it.'),
    domain: z.string(),
    confirmed: z
      .boolean()
      .describe('The owner of the address has opened the mailed link. False: anybody may have asked.'),
    createdAt: z.iso.datetime(),
    expiresAt: z.iso.datetime().describe('Without a decision the request is deleted then.'),
  })
  .meta({ id: 'SignUpRequest' })
export type SignUpRequest = z.infer<typeof SignUpRequest>

/** Domain and projects of the account that an accepted request becomes. Its role is `user`. */
export const SignUpAcceptance = z
  .strictObject({
    domain: DomainName.optional().describe(
      'Default: the domain of the request. Only superadmins may choose another one.',
    ),
    groups: GroupNames.optional().describe('Ids or names of groups of the domain. Default: its group "default".'),
    resourcePolicy: ResourcePolicyName.optional().describe('Limits of the user; only superadmins set it.'),
  })
  .meta({ id: 'SignUpAcceptance' })
export type SignUpAcceptance = z.infer<typeof SignUpAcceptance>

export const LINK_PURPOSES = ['verify', 'reset'] as const
export type LinkPurpose = (typeof LINK_PURPOSES)[number]

/** A fresh one-time link, for an admin to pass on. Shown once: only its hash is kept. */
export const AccountLink = z
  .object({ url: z.string(), purpose: z.enum(LINK_PURPOSES), expiresAt: z.iso.datetime() })
  .meta({ id: 'AccountLink' })
export type AccountLink = z.infer<typeof AccountLink>

/** A one-time link for somebody else. */
export const SentLink = AccountLink.extend({
  url: z.string().nullable().describe('For the admin to pass on; null where it was mailed to the person.'),
}).meta({ id: 'SentLink' })
export type SentLink = z.infer<typeof SentLink>

/** An account after a change. */
export const ChangedUser = User.extend({
  passwordLink: SentLink.nullable().describe(
    'To set a new password, where the change ended one that somebody else may know; null otherwise.',
  ),
}).meta({ id: 'ChangedUser' })
export type ChangedUser = z.infer<typeof ChangedUser>

/** The account of an accepted request. */
export const AcceptedSignUp = z
  .object({
    user: User,
    link: AccountLink.nullable().describe('To set the password, for the admin to pass on; null where it was mailed.'),
  })
  .meta({ id: 'AcceptedSignUp' })
export type AcceptedSignUp = z.infer<typeof AcceptedSignUp>

export const InvitationId = z.uuid()

export const Invitation = z
  .object({
    id: InvitationId,
    domain: z.string(),
    note: z.string(),
    createdAt: z.iso.datetime(),
    expiresAt: z.iso.datetime(),
    createdBy: z.string().nullable().describe('Address of the person who made it.'),
    status: z
      .enum(['open', 'used', 'expired', 'ended'])
      .describe('`ended`: the person who made it may not invite into the domain now.'),
    usedBy: UserId.nullable(),
  })
  .meta({ id: 'Invitation' })
export type Invitation = z.infer<typeof Invitation>

export const InvitationSpec = z
  .strictObject({
    domain: DomainName.optional().describe('Default: your own domain. Only superadmins may choose another one.'),
    note: PlainText(200).default('').describe('Who the invitation is for.'),
    days: z.number().int().min(1).max(90).default(7).describe('How many days the invitation is valid.'),
  })
  .meta({ id: 'InvitationSpec' })
export type InvitationSpec = z.infer<typeof InvitationSpec>

/** A new invitation. Only this reply shows its token. */
export const NewInvitation = Invitation.extend({
  token: z.string(),
  url: z.string(),
  notices: z
    .array(z.object({ code: z.enum(['sign_up_closed', 'domain_inactive']), message: z.string(), ...CauseFields }))
    .describe('Reasons why the link would be refused now.'),
}).meta({ id: 'NewInvitation' })
export type NewInvitation = z.infer<typeof NewInvitation>

/** Six digits of the authenticator app, or a recovery code; spaces do not matter. */
export const SecondFactor = TextUpTo(40).min(6)

export const TotpStatus = z
  .object({ enabled: z.boolean(), recoveryCodesLeft: z.number().int() })
  .meta({ id: 'TotpStatus' })
export type TotpStatus = z.infer<typeof TotpStatus>

/** Secret for an authenticator app. Shown once. */
export const TotpEnrolment = z
  .object({
    secret: z.string().describe('The secret in base32, to type in.'),
    uri: z.string().describe('The otpauth:// address, to show as a QR code.'),
  })
  .meta({ id: 'TotpEnrolment' })
export type TotpEnrolment = z.infer<typeof TotpEnrolment>

/** Recovery codes: each replaces the code of the app for one sign-in. Shown once. */
export const RecoveryCodes = z.object({ codes: z.array(z.string()) }).meta({ id: 'RecoveryCodes' })
export type RecoveryCodes = z.infer<typeof RecoveryCodes>
