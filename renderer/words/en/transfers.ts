import { defineWords } from '../i18n.ts'

const en = {
  upload: 'Upload',
  uploadFiles: 'Files…',
  uploadDirectory: 'A directory…',
  uploads: 'Uploads',
  uploading: '{count, plural, one {Uploading # file} other {Uploading # files}}',
  uploaded: '{count, plural, one {# file uploaded} other {# files uploaded}}',
  needsYou: '{count, plural, one {# upload needs you} other {# uploads need you}}',
  paused: '{count, plural, one {# upload paused} other {# uploads paused}}',
  progress: '{done} of {total}',
  rate: '{rate}/s',
  timeLeft: '{time} left',
  filesDone: '{done, number} of {total, number} files',
  statusQueued: 'Waiting for its turn',
  statusWaiting: 'No connection. The upload continues by itself.',
  statusChecking: 'Checking that all bytes arrived',
  statusPaused: 'Paused',
  statusConflict: 'A file of this name exists',
  statusDone: 'Uploaded',
  pause: 'Pause {name}',
  resume: 'Continue {name}',
  cancelOne: 'Cancel {name}',
  retryOne: 'Try {name} again',
  pauseAll: 'Pause all',
  resumeAll: 'Continue all',
  cancelAll: 'Cancel all',
  fold: 'Fold the panel',
  unfold: 'Show the uploads',
  dismiss: 'Close the panel',
  unreadable: 'The browser cannot read the file any more. It may have been moved or changed; choose it again.',
  dropUnreadable: 'The browser could not read what was dropped.',
  unfinished:
    '{count, plural, one {# upload into this folder is not finished.} other {# uploads into this folder are not finished.}}',
  showUnfinished: 'Continue…',
  unfinishedOfOthers:
    '{count, plural, one {# upload of somebody else into this folder is not finished.} other {# uploads of others into this folder are not finished.}}',
  showUnfinishedOfOthers: 'Show…',
  unfinishedOthersText: 'Uploads of others. They hold room of the folder until they are finished or discarded.',
  unfinishedTitle: 'Unfinished uploads',
  unfinishedText:
    'Choose the same file again to continue where the upload stopped. Unfinished uploads are deleted after a week.',
  chooseAgain: 'Choose the file…',
  discard: 'Discard',
  discardOne: 'Discard {name}',
  otherFile: 'This is another file: {name} has {size}.',
  forAll: 'Use this for all files of this upload',
  noAnswer: 'The server does not answer.',
} as const

export default en
export const t = defineWords('transfers', en)
