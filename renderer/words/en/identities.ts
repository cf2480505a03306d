import { defineWords } from '../i18n.ts'

const en = {
  title: 'Sign-in providers',
  what: 'With a linked account of your organization you sign in without the password of Berth.',
  none: 'No account is linked.',
  facts: '{provider} · linked {since} · last used {when}',
  removedProvider: 'provider that was removed ({issuer})',
  link: 'Link {name}',
  linkTitle: 'Link an account of {name}',
  linkText: 'You sign in at {name} next. Whoever can sign in there as you can then sign in to Berth as you.',
  linkDirectoryText:
    'Prove with both passwords that the account at {name} is yours. Whoever can sign in there as you can then sign in to Berth as you.',
  nameAt: 'Name at {name}',
  passwordAt: 'Password at {name}',
  goOn: 'Continue at {name}',
  linked: 'Linked: {email}',
  unlink: 'Unlink',
  unlinkOf: 'Unlink {email}',
  unlinkTitle: 'Unlink {email}?',
  unlinkText:
    'You can no longer sign in to Berth with this account. Projects and role that it gave are taken back; other sign-ins stay unless the role changes.',
  unlinked: 'The account is unlinked.',
  otherAddress: 'Open Berth at {address} to link an account: the provider comes back to that address.',
  enterCode: 'Continue in your browser, then enter the code that it shows.',
  code: 'Code from the browser',
  finish: 'Link',
} as const

export default en
export const t = defineWords('identities', en)
