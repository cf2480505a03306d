import { type Command } from 'commander'
import { connect } from '../config/connect.ts'
import { createOutput } from '../output.ts'
import { findSession } from './find-session.ts'
import { describe } from './session-text.ts'
import { parsePriority } from './session-waiting.ts'

/** Adds `berth session priority`. */
export function addSessionPriorityCommand(session: Command): void {
  session
    .command('priority <session>')
    .argument('<number>', '-10 to 10', parsePriority)
    .description(
      'Set the order of a waiting session in the queue: larger goes first. Owners may lower the priority, admins may raise it.',
    )
    .option('--json', 'print JSON')
    .allowUnknownOption()
    .action(async (reference: string, priority: number, { json = false }: { readonly json?: boolean }) => {
      const connection = await connect()
      const { api } = connection
      const { id } = await findSession(connection, reference)
      const changed = await api.setSessionPriority({ params: { id }, body: { priority } })
      createOutput(json).data(changed, () => `${describe(changed)}  priority ${changed.priority}`)
    })
}
