import { defineWords } from '../i18n.ts'

const en = {
  title: 'SCIM tokens',
  add: 'Make a SCIM token',
  none: 'No SCIM tokens',
  noneText:
    'With a token, an identity provider such as Okta or Entra ID makes and deactivates the accounts of a domain.',
  name: 'Name',
  nameHint: 'Where it is used, such as the name of the provider.',
  domain: 'Domain',
  domainHint: 'The provider writes the accounts and projects of this domain.',
  ownDomain: 'The provider writes the accounts and projects of your domain, {domain}.',
  madeBy: 'Made by',
  lastUsed: 'Last used',
  never: 'Never',
  ownerHint: 'The token works while you administer the domain.',
  make: 'Make the token',
  baseUrl: 'Base URL (tenant URL)',
  baseUrlHint: 'Enter it at the identity provider, with a token of the domain.',
  madeTitle: 'Token of {name}',
  token: 'Token',
  shownOnce: 'Enter both at the provider now: the token is not shown again.',
  endOf: 'End {name}',
  end: 'End the token',
  endTitle: 'End the token {name}?',
  endText: 'The provider changes nothing in {domain} any more. Accounts and projects stay as they are.',
  ended: '{name} ended.',
} as const

export default en
export const t = defineWords('admin-scim', en)
