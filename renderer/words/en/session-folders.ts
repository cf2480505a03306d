import { defineWords } from '../i18n.ts'

/** Folders of one session, in its details. */
const en = {
  add: 'Add folder',
  addTitle: 'Add a folder to {name}',
  addText: 'Programs of the session see it at once. There must be nothing at its path yet.',
  folder: 'Folder',
  chooseOne: 'Choose a folder.',
  path: 'Path in the session',
  added: '{folder} is in {name} now.',
  take: 'Take out',
  takeOf: 'Take out {folder}',
  takeTitle: 'Take {folder} out of {name}?',
  takeText:
    'Its files stay in the folder; the session loses sight of them. A folder that programs use is not taken out.',
  takeForce: 'Also while programs use it: they keep only the files that they have open',
  taken: '{folder} is not in {name} any more.',
  waits: 'waits for its host',
  launchStays: 'Folders that the session started with stay until it ends.',
  fixed: 'Folders cannot be added now: {why}',
  again: 'Start again with other folders',
  againTitle: 'Start {name} again with other folders',
  againText: 'The session has the files of its home folder again, and these folders.',
  againEnds: 'It runs now: it is ended first, and programs in it lose what they have not saved.',
  againSubmit: 'Start again',
  againEndSubmit: 'End and start again',
  againSlow: 'The session has not ended yet. Start it again from the list of ended sessions when it has.',
  started: '{name} is started again.',
  otherFolders: 'Folders: {names}',
  otherWithout:
    'Otherwise it has only folders of your own and those that you have mounted yourself before, each under its own name, and its image must be one that you have launched yourself.',
} as const

export default en
export const t = defineWords('session-folders', en)
