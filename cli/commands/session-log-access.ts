import { Argument, type Command } from 'commander'
import { connect } from '../config/connect.ts'
import { createOutput } from '../output.ts'
import { findSession } from './find-session.ts'

/** `berth session log-access …`: lets administrators read log and start-up command of a session of the caller, or not any more. */
export function addSessionLogAccessCommand(session: Command): void {
  session
    .command('log-access <session>')
    .addArgument(new Argument('<who>', 'who reads log and start-up command').choices(['owner', 'admins']))
    .description('Let administrators read log and start-up command of a session of yours, for help with a problem.')
    .option('--json', 'print JSON')
    .action(async (reference: string, who: 'owner' | 'admins', { json = false }: { json?: boolean }) => {
      const connection = await connect()
      const { id } = await findSession(connection, reference)
      const adminsMayRead = who === 'admins'
      const changed = await connection.api.updateSession({ params: { id }, body: { adminsMayRead } })
      const text = adminsMayRead
        ? 'Administrators may read it, too.'
        : 'Only you read it, and members with whom you share it.'
      createOutput(json).data(changed, () => `${changed.id}  ${changed.name}  ${text}`)
    })
}
