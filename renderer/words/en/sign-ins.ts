import { defineWords } from '../i18n.ts'

const en = {
  title: 'Sign-ins',
  what: 'The browsers and programs in which you are signed in. Ending one closes its pages, terminals and connections at once; sessions keep running.',
  thisOne: 'This one',
  unknownDevice: 'Unknown program',
  facts: 'From {address} · since {since}',
  lastUsed: 'last used {when}',
  usedNow: 'in use now',
  withKey: 'with access key {key}',
  end: 'End',
  endOf: 'End the sign-in of {device} from {address}',
  endOthers: 'End all others',
  endOthersTitle: 'End all other sign-ins?',
  endOthersText:
    'Their pages, terminals and connections close at once, and programs such as the command line have to sign in again. Sessions keep running.',
  ended: 'The sign-in has ended.',
  othersEnded:
    '{count, plural, =0 {There was no other sign-in.} one {# sign-in has ended.} other {# sign-ins have ended.}}',
  showAll: '{count, plural, one {Show # more} other {Show # more}}',
  loading: 'Loading your sign-ins',

  // Sign-in with an access key
  accessKey: 'Access key',
  secretKey: 'Secret key',
  enterAccessKey: 'Enter the access key',
  enterSecretKey: 'Enter the secret key',
  keyHint: 'The sign-in ends when the access key is deactivated or deleted.',
} as const

export default en
export const t = defineWords('sign-ins', en)
