import { defineWords } from '../i18n.ts'

const en = {
  content: 'Content of the file',
  edit: 'Edit',
  beginning: 'The first {size} of {total} are shown. Download the file to see all of it.',
  noPreview: 'This file has no preview. Download it to open it on your computer.',
  noNotebook: 'This file is not a complete notebook. Download it, or open it in a session.',
  noPdfViewer: 'This browser has no viewer for PDF files. Download the file.',
  output: 'Picture in an output',
  row: 'Row',
  saved: '{name} saved',
  binaryNow: 'The file no longer holds text.',
  changedTitle: 'The file has changed meanwhile',
  changedText: 'Somebody else, or a session, wrote the file after you opened it.',
  yours: 'Your version',
  theirs: 'Version in the folder',
  overwrite: 'Overwrite with yours',
  saveCopy: 'Save yours as a copy',
  leaveTitle: 'Leave {name} without saving?',
  leaveText: 'Your changes are not saved and will be lost.',
  stay: 'Keep editing',
  discardChanges: 'Discard changes',
} as const

export default en
export const t = defineWords('preview', en)
