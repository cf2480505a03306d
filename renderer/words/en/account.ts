import { defineWords } from '../i18n.ts'

const en = {
  // Sign in
  signInTitle: 'Sign in to Berth',
  signInSubtitle: 'GPU and CPU sessions in containers, opened from your own computer.',
  signIn: 'Sign in',
  or: 'or',
  administratorPassword: 'Administrators: sign in with a password',
  signingInWithLink: 'Signing in with your link…',
  forgotPassword: 'Forgot your password?',
  useKey: 'Use an access key',
  usePassword: 'Use your password',
  firstStart:
    'First start? The address is <code>admin@localhost</code>; the password is in the file <code>admin-password</code> of the data directory.',
  signInsEnded:
    'Berth was started again. Without TLS, the sign-ins of browsers end then: while Berth was stopped, another program could have received them.',
  emailAddress: 'E-mail address',
  password: 'Password',
  codeFromApp: 'Code from your authenticator app',
  orRecoveryCode: 'Or enter a recovery code',
  waitSeconds: 'Wait {seconds, number} s',
  tooManyFailures: 'Too many failed sign-ins',
  tryAgainIn: 'You can try again in {seconds, number} s.',
  tryAgainNow: 'You can try again now.',
  tryAgainNowTitle: 'You can try again now',
  confirmAddressFirst: 'Confirm your address first',
  openMailedLink: 'Open the link in the mail that we sent you.',
  sendLinkAgain: 'Send the link again',
  linkMailedAgain: 'We have mailed you a new link.',
  enterEmail: 'Enter your e-mail address',
  enterPassword: 'Enter your password',
  enterCode: 'Enter the code',
  linkTooOld: 'This link is too old, or belongs to another computer. Run "berth up" for a new one.',

  confirmAddress: 'Confirm your address',
  signUp: 'Sign up',
  // New passwords
  newPassword: 'New password',
  passwordRule: 'Use at least 8 characters with a letter, a digit and a special character',
  chooseOther: 'Choose a password that differs from the current one',
  passwordsDiffer: 'The passwords do not match',
  enterCurrent: 'Enter your current password',
  notCurrent: 'This is not your current password',
  codeWrong: 'The code is wrong or expired: enter the code that your app shows now',
} as const

export default en
export const t = defineWords('account', en)
