import { type CommandEnd } from '#manager/contract'
import { type Output } from '../output.ts'

/** Berth itself failed, so that there is no exit code of the command; as ssh has it. */
export const NO_EXIT_CODE = 255
/** As of timeout(1), of a process killed by SIGKILL, and of one that writes to a closed pipe. */
const TIME_LIMIT = 124
const KILLED = 137
const READER_GONE = 141

/** The exit code of this program for the end of a command, whose cause is printed where the code does not say it. */
export function exitCodeOfCommand(end: CommandEnd | 'reader_gone', { note }: Pick<Output, 'note'>): number {
  if (end === 'reader_gone') return READER_GONE
  switch (end.reason) {
    case 'exited':
      return end.exitCode ?? NO_EXIT_CODE
    case 'time_limit':
      note('berth: The command was killed, because its time was over.')
      return TIME_LIMIT
    case 'killed':
      note('berth: The command was killed.')
      return KILLED
    case 'lost':
      note('berth: The session ended before the command did, or its host could not run it.')
      return NO_EXIT_CODE
  }
}
