import { defineWords } from '../i18n.ts'

const en = {
  content: 'Content of the file',
  edit: 'Edit',
  beginning: 'The first {size} of {total} are shown. Download the file to see all of it.',
  cutLines: 'Very long lines are cut: browsers need minutes to show them. Download the file to see all of it.',
  encoding: 'Encoding',
  otherEncoding:
    'This text is not UTF-8. It is shown in the encoding that it seems to have, and cannot be edited here: saving would change its encoding.',
  'encoding_utf-8': 'UTF-8',
  'encoding_utf-16le': 'UTF-16 LE',
  'encoding_utf-16be': 'UTF-16 BE',
  'encoding_euc-kr': 'Korean (CP949)',
  'encoding_windows-1252': 'Western European (Latin-1)',
  noPreview: 'This file has no preview. Download it to open it on your computer.',
  noNotebook: 'This file is not a complete notebook. Download it, or open it in a session.',
  noPdfViewer: 'This browser has no viewer for PDF files. Download the file.',
  output: 'Picture in an output',
  moreColumns: 'The first {shown} of {total} columns are shown. Download the file to see all of them.',
  chooseCell: 'Enter chooses a cell, which is shown whole below; arrow keys choose the next ones.',
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
