import { AppError, because, type SignInProviderSettings, type SystemSettings } from '#manager/contract'
import { findIdentity, listIdentities, type SignInIdentityRow } from '../store/identity/sign-in-identities.ts'
import { findUser, findUserByEmail, type UserRow } from '../store/identity/users.ts'
import { type Db } from '../store/schema.ts'
import { type Person } from './person.ts'

/** The account to which a person signs in. */
export type FoundAccount =
  | { readonly kind: 'known'; readonly user: UserRow; readonly identity: SignInIdentityRow }
  | { readonly kind: 'linkable'; readonly user: UserRow; readonly email: string }
  | { readonly kind: 'new'; readonly email: string }

/**
 * Finds the account of a person, without changing anything.
 *
 * Threat model: issuer and subject decide. They never change, so a changed address at the provider neither loses an account nor reaches
 * another one. The address counts only for a subject that is not known yet, and a provider may report addresses that do not belong to the
 * person: it may let people type them, or reassign the address of somebody who has left. So an existing account is linked only if the
 * superadmin has switched that on for this provider, the provider says that the address is verified, the address belongs to the mail
 * domains for which the provider may speak, the account is no superadmin's and has no other subject of this issuer, and strangers cannot
 * have created the account with an unconfirmed address.
 *
 * @throws AppError `sso_email_missing`, `sso_email_unverified`, `sso_email_domain`, `sso_account_taken`, `sso_no_account`
 */
export async function findAccount(
  db: Db,
  person: Person,
  provider: SignInProviderSettings,
  system: Pick<SystemSettings, 'allowSignUp' | 'requireEmailVerification'>,
): Promise<FoundAccount> {
  const identity = await findIdentity(db, person)
  const known = identity && (await findUser(db, identity.user_id))
  if (identity && known) return { kind: 'known', user: known, identity }
  const email = trustedEmail(person, provider)
  const user = await findUserByEmail(db, email)
  if (!user) {
    if (provider.createAccounts) return { kind: 'new', email }
    throw new AppError('sso_no_account', because('sso_ask_for_account', { email }))
  }
  if ((await listIdentities(db, user.id)).some(({ issuer }) => issuer === person.issuer)) {
    throw new AppError('sso_account_taken', because('sso_account_other', { email }))
  }
  const mayBeStrangers = system.allowSignUp !== 'off' && !system.requireEmailVerification
  const mayLink = provider.linkByEmail && provider.emailDomains.length > 0 && user.role !== 'superadmin'
  if (!mayLink || mayBeStrangers) throw new AppError('sso_account_taken', because('sso_account_unlinked', { email }))
  return { kind: 'linkable', user, email }
}

/**
 * The address of a person, if the settings of the provider accept it. @throws AppError `sso_email_missing`, `sso_email_unverified`,
 * `sso_email_domain`
 */
export function trustedEmail(
  { email, isEmailVerified }: Person,
  { name, emailDomains }: SignInProviderSettings,
): string {
  if (email === null) throw new AppError('sso_email_missing', because('sso_email_missing', { provider: name }))
  if (!isEmailVerified) {
    throw new AppError('sso_email_unverified', because('sso_email_unverified', { email, provider: name }))
  }
  const domain = email.slice(email.lastIndexOf('@') + 1)
  if (emailDomains.length > 0 && !emailDomains.includes(domain)) {
    throw new AppError('sso_email_domain', because('sso_email_domain', { email, provider: name }))
  }
  return email
}
