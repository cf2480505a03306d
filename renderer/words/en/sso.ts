import { defineWords } from '../i18n.ts'

const en = {
  signInWith: 'Sign in with {name}',
  directoryText: 'Your name and password at {name}. Berth passes the password on to {name} and keeps none.',
  directoryName: 'Name',
  enterName: 'Enter your name.',
  continueInBrowser: 'Continue in your browser. If it does not open Berth again, enter the code that it shows.',
  codeFromBrowser: 'Code from the browser',
  finishingSignIn: 'Signing in…',
  codeTitle: 'Continue in Berth',
  codeWarning: 'Enter this code only in a program that you have just started yourself. Give it to nobody.',
  codeLabel: 'Code',
  codeHint: 'Or copy the code into the terminal or the app where you began. It works once, for ten minutes.',
  openDesktopApp: 'Open the desktop app',
  programTitle: 'Did you start this?',
  programSignsIn: 'A program on this computer wants to sign in as <b>{name}</b>.',
  programLinks: 'A program on this computer wants to link <b>{name}</b> to the Berth account that is signed in there.',
  onlyWithWord: 'Continue only if you started it and it shows this word:',
  continueProgram: 'Continue',
  programCancelled: 'Cancelled',
  mayClose: 'The program got nothing. You can close this window.',
  startSignInAgain: 'Start the sign-in again.',
} as const

export default en
export const t = defineWords('sso', en)
