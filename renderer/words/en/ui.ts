export default {
  cancel: 'Cancel',
  close: 'Close',
  copied: 'Copied',
  copy: 'Copy',
  download: 'Download',
  language: 'Language',
  languageSystem: 'As the system',
  loading: 'Loading…',
  remove: 'Remove',
  save: 'Save',
  tryAgain: 'Try again',
  continue: 'Continue',
} as const
