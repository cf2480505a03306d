import { AppError, because, type SystemSettings } from '#manager/contract'

/** @throws AppError `bad_request` if the settings name terms to which the person has not agreed */
export function requireAgreement(
  { termsUrl, privacyUrl }: Pick<SystemSettings, 'termsUrl' | 'privacyUrl'>,
  acceptTerms: boolean | undefined,
): void {
  if ((termsUrl !== null || privacyUrl !== null) && acceptTerms !== true) {
    throw new AppError('bad_request', { ...because('agree_to_terms'), fields: [{ path: 'acceptTerms' }] })
  }
}

/**
 * Checks the domain of an address, for people without an invitation. The answer depends only on the address and the settings, so it does
 * not reveal whether there is an account. @throws AppError `bad_request`
 */
export function requireMailDomain(
  { signUpEmailDomains }: Pick<SystemSettings, 'signUpEmailDomains'>,
  email: string,
): void {
  if (signUpEmailDomains === null) return
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase()
  if (signUpEmailDomains.split(', ').includes(domain)) return
  throw new AppError('bad_request', {
    ...because('sign_up_email_domain', { domains: signUpEmailDomains }),
    fields: [{ path: 'email' }],
  })
}
