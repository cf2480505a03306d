import { type Command } from 'commander'
import { defined } from '#base/defined'
import { type Session } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { listenForInterrupt } from '../interrupt.ts'
import { createOutput } from '../output.ts'
import { findSession } from './find-session.ts'
import { describe } from './session-text.ts'
import { waitForEnded } from './wait-for-sessions.ts'

interface EndFlags {
  readonly wait?: boolean
  readonly why?: string
  readonly force?: boolean
  readonly json?: boolean
}

/** Adds `berth session rm`. */
export function addSessionEndCommand(session: Command): void {
  session
    .command('rm <session...>')
    .description(
      'Cancel waiting sessions, terminate running ones. Files in mounted folders stay; the rest of /home/work is kept for about a day while there is room, everything else is deleted.',
    )
    .option('--wait', 'wait until the sessions have ended')
    .option('--why <text>', 'reason for the owner, beside who ended the session')
    .option('--force', 'for admins: end a session that hangs while it terminates, without waiting for its agent')
    .option('--json', 'print JSON')
    .action(async (references: string[], flags: EndFlags) => {
      const connection = await connect()
      const { api } = connection
      const output = createOutput(flags.json ?? false)
      using interrupt = listenForInterrupt()
      const { signal } = interrupt
      const query = {
        ...defined({ why: flags.why }),
        ...(flags.force ? { force: 'true' } : {}),
      }
      const sessions: Session[] = []
      for (const reference of references) {
        if (signal.aborted) break
        const { id } = await findSession(connection, reference)
        sessions.push(await api.deleteSession({ params: { id }, query }))
      }
      const ended = flags.wait ? await waitForEnded({ api, sessions, signal, output }) : sessions
      output.data(ended, () => ended.map(describe).join('\n'))
      signal.throwIfAborted()
    })
}
