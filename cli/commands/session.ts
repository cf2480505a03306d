import { type Command } from 'commander'
import { addSessionAgainCommands } from './session-again.ts'
import { addSessionCreateCommand } from './session-create.ts'
import { addSessionEndCommand } from './session-end.ts'
import { addSessionFolderCommands } from './session-folders.ts'
import { addSessionImageCommand } from './session-image.ts'
import { addSessionLabelCommands } from './session-labels.ts'
import { addSessionLogAccessCommand } from './session-log-access.ts'
import { addSessionPriorityCommand } from './session-priority.ts'
import { addSessionReadCommands } from './session-read.ts'
import { addSessionSharingCommands } from './session-sharing.ts'

/** `berth session …`. A session is named by its id, the start of its id, or its name. */
export function addSessionCommands(program: Command): void {
  const session = program.command('session').description('Create, list, show and end sessions.')
  addSessionCreateCommand(session)
  addSessionReadCommands(session)
  addSessionAgainCommands(session)
  addSessionEndCommand(session)
  addSessionFolderCommands(session)
  addSessionLabelCommands(session)
  addSessionLogAccessCommand(session)
  addSessionSharingCommands(session)
  addSessionImageCommand(session)
  addSessionPriorityCommand(session)
}
