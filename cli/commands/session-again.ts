import { type Command } from 'commander'
import { defined } from '#base/defined'
import { connect } from '../config/connect.ts'
import { createOutput } from '../output.ts'
import { type Kept, leftOut } from './command-of-other.ts'
import { durationOption } from './duration.ts'
import { findSession } from './find-session.ts'
import { changedFolders, collectFolder, type RestartFolders } from './folder-flag.ts'
import { describe, endText } from './session-text.ts'
import { collect } from './session-waiting.ts'
import { printCreated } from './print-created.ts'

interface JsonFlag {
  readonly json?: boolean
}

/** Adds `berth session extend` and `restart`, which continue a session. */
export function addSessionAgainCommands(session: Command): void {
  session
    .command('extend <session>')
    .description('Postpone the end of a session. The idle time starts again; --by makes the maximum lifetime longer.')
    .option(
      '--by <time>',
      'e.g. 2h (default, if the maximum lifetime ends the session next: its initial value, as far as allowed)',
      durationOption,
    )
    .option('--json', 'print JSON')
    .action(async (reference: string, flags: JsonFlag & { by?: number }) => {
      const connection = await connect()
      const { api } = connection
      const { id } = await findSession(connection, reference)
      const body = defined({ seconds: flags.by })
      const extended = await api.extendSession({ params: { id }, body })
      createOutput(flags.json ?? false).data(extended, () => `${describe(extended)}  ${endText(extended)}`.trimEnd())
    })

  session
    .command('restart <session>')
    .description('Start an ended session of yours again, with the same settings, on the same host, with its files.')
    .option(
      '--wait',
      'wait until the session runs, or a batch session has ended; fails if it does not start or does not end with exit code 0',
    )
    .option('--folder <NAME[:PATH][:ro]>', 'mount one more folder; may be repeated', collectFolder)
    .option('--without-folder <name>', 'without a folder that the session had; may be repeated', collect)
    .option(
      '--keep-command',
      'of a session that an admin launched for you: take the image, command, variables and folders that the admin chose',
    )
    .option(
      '--keep-files',
      'of a session that an admin launched for you: continue with its files; its command may have left a start-up file',
    )
    .option('--json', 'print JSON')
    .action(async (reference: string, flags: JsonFlag & RestartFolders & Kept & { wait?: boolean }) => {
      const connection = await connect()
      const { api } = connection
      const { id } = await findSession(connection, reference)
      const had = await api.getSession({ params: { id } })
      const folders = changedFolders(had, flags)
      const { keepCommand, keepFiles } = flags
      const body = {
        ...(folders ? { folders } : {}),
        ...(keepCommand ? { keepCommand } : {}),
        ...(keepFiles ? { keepFiles } : {}),
      }
      const { notices = [], ...next } = await api.restartSession({
        params: { id },
        ...(Object.keys(body).length > 0 ? { body } : {}),
      })
      const output = createOutput(flags.json ?? false)
      for (const note of leftOut(had, next, flags)) output.note(note)
      for (const { message } of notices) output.note(message)
      await printCreated({ api, output, items: [next], wait: flags.wait })
    })
}
