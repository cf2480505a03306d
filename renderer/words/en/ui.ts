import { defineWords } from '../i18n.ts'

const en = {
  cancel: 'Cancel',
  close: 'Close',
  copied: 'Copied',
  copy: 'Copy',
  download: 'Download',
  language: 'Language',
  languageSystem: 'System language',
  loading: 'Loading…',
  remove: 'Remove',
  save: 'Save',
  time: 'Time',
  tryAgain: 'Try again',
  continue: 'Continue',

  // Durations
  days: '{count, number} d',
  hours: '{count, number} h',
  minutes: '{count, number} min',
  seconds: '{count, number} s',
  keep: 'Keep',
  copiedLabel: '{label}: copied',
  copyLabel: '{label}: copy',
  labelCopied: '{label} copied',
  hidePassword: 'Hide password',
  showPassword: 'Show password',
  code: 'Code: <code>{code}</code>',
  dismiss: 'Dismiss',
  cutHere: '[cut here: the rest is in the download]',
  slider: '{label}, slider',
  raisedTo: 'Raised to {amount}, the minimum of this image',
  atMost: 'At most {amount}',
  noClipboard: 'Browsers allow copying only on https and localhost addresses. Select and copy the text instead.',
  copyRefused: 'The browser did not allow copying. Click into the page and try again.',
  bytes: '{count, plural, one {# byte} other {# bytes}}',
  typeName: 'Type the name to confirm',
  typeMismatch: 'Does not match the name “{name}”',
  thisComputer: 'This computer',
} as const

export default en
export const t = defineWords('ui', en)
