import { defineWords } from '../i18n.ts'

const en = {
  share: 'Share…',
  ssh: 'SSH and SFTP…',
  copyId: 'Copy the ID',
  idCopied: 'Copied the ID of the session.',
  tags: 'Tags',
  tagsHint: 'Separated by spaces, for example thesis run/3',
  note: 'Note',
  labels: 'Tags and note',
  noTags: 'No tags',
  noNote: 'No note',
  edit: 'Edit',
  editLabels: 'Edit tags and note',
  tagFault: 'A tag has up to 32 letters or digits; inside also - _ . / and :',
  tooManyTags: 'At most {count} tags',
  noteFault: 'At most {count, number} characters',
  sharedLive:
    '<b>{owner} shares this session with you to use it.</b> You act in it as its owner: files that you change are theirs. Only the owner and administrators can end it.',
  sharedView: '<b>{owner} shares this session with you to view it.</b> You see its timeline, charts, log and details.',
  leave: 'Leave',
  leaveHint: 'Remove the session from your list',
} as const

export default en
export const t = defineWords('labels', en)
