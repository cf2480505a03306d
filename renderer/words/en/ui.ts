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
  time: 'Time',
  tryAgain: 'Try again',
  continue: 'Continue',

  // Durations
  days: '{count, number} d',
  hours: '{count, number} h',
  minutes: '{count, number} min',
  seconds: '{count, number} s',
} as const
