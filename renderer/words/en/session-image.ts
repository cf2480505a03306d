import { defineWords } from '../i18n.ts'

/** Images of sessions: the section of a session's details. */
const en = {
  title: 'This session as an image',
  about:
    'What you installed in this session becomes an image, from which new sessions start. Your home, folders, keys and variables are not part of it. Files that programs wrote elsewhere are, and every user may launch the image.',
  make: 'Make an image',
  ask: 'Ask for an image',
  name: 'Name of the image',
  nameHint: 'In lower case, with a tag, such as {prefix}torch:2',
  imageTitle: 'Title',
  imageTitleHint: 'Shown when launching. Empty: the title of the image of this session.',
  note: 'What it is for',
  noteHint: 'A superadmin reads this and decides.',
  waits: 'Waits for a superadmin: {name}',
  withdraw: 'Withdraw',
  running: 'Being made: {name}',
  progress: '{done} of about {total}',
  cancel: 'Cancel',
  done: '{name} was made. It is in the list of images.',
  failed: '{name} was not made: {why}',
  asked: 'A superadmin decides about the image.',
  begun: 'The image is being made.',
} as const

export default en
export const t = defineWords('session-image', en)
