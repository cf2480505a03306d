import { defineWords } from '../i18n.ts'

/** The dialog that proves that this browser runs on Berth's computer. */
const en = {
  title: 'Does this browser run on Berth’s computer?',
  about:
    'Apps open at ports of Berth’s computer, so Berth has to know that this browser runs there. Run this command in a terminal on this computer, as the user who started this browser:',
  command: 'Command',
  fromClone: 'In a clone of Berth it is <code>npx {command}</code>.',
  waiting: 'Waiting for the command. The page goes on by itself.',
  caution: 'Never run such a command with a code that somebody sent you.',
  noCommand:
    'The command is not available here. The person who runs Berth can give you a link: the second one that <code>berth up</code> prints, to open in this browser.',
  elsewhere: 'On another computer, use the desktop app or the <code>berth</code> command there.',
  proved: 'This browser may open apps on this computer now. Open the app again.',
} as const

export default en
export const t = defineWords('this-computer', en)
