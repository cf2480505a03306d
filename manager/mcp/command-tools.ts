import { z } from 'zod'
import { CommandId, type CommandResult, CommandSpec, LONGEST_WAIT_SECONDS, SessionId } from '#manager/contract'
import { lastOf, ofSession, ShownCharacters } from './output.ts'
import { defineTool, READS, type Tool } from './tool.ts'

const { command, stdin, workingDirectory, environ, timeoutSeconds, kernel } = CommandSpec.shape
const Wait = z
  .int()
  .min(0)
  .max(LONGEST_WAIT_SECONDS)
  .default(LONGEST_WAIT_SECONDS)
  .describe('Wait this long for the end.')
const OneCommand = z.strictObject({
  session: SessionId,
  command: CommandId.describe('`id` of the answer of run_command.'),
})

/** Tools for commands in sessions that the token launched. */
export const COMMAND_TOOLS: readonly Tool[] = [
  defineTool({
    name: 'run_command',
    title: 'Run a command in a session',
    description:
      'Runs a command in a running session that this token launched. The answer has the exit code and the ends of both streams. If `status` is RUNNING it goes on: follow with command_result.',
    scope: 'enter',
    hints: { readOnlyHint: false, destructiveHint: true },
    input: z.strictObject({
      ...{ session: SessionId, command, stdin, workingDirectory, environ, timeoutSeconds, kernel },
      ...{ waitSeconds: Wait, characters: ShownCharacters },
    }),
    async run({ api, signal }, { session: id, characters, ...body }) {
      return shown(await api.runCommand({ params: { id }, body, signal }), characters)
    },
  }),
  defineTool({
    name: 'command_result',
    title: 'Result of a command',
    description:
      'Waits for the end of a command of run_command, and answers as run_command does. A command is known for ten minutes after its end.',
    scope: 'enter',
    hints: READS,
    input: OneCommand.extend({ waitSeconds: Wait, characters: ShownCharacters }),
    async run({ api, signal }, { session: id, command: commandId, characters, waitSeconds }) {
      return shown(await api.getCommand({ params: { id, commandId }, query: { waitSeconds }, signal }), characters)
    },
  }),
  defineTool({
    name: 'end_command',
    title: 'Kill a command',
    description: 'Kills a command of run_command, with everything that it has started.',
    scope: 'enter',
    hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
    input: OneCommand,
    async run({ api, signal }, { session: id, command: commandId }) {
      await api.endCommand({ params: { id, commandId }, signal })
      return { ended: true }
    },
  }),
]

function shown(
  { id, status, reason, exitCode, seconds, stdout = '', stderr = '', truncated = false }: CommandResult,
  characters: number,
) {
  const [out, err] = [lastOf(stdout, characters), lastOf(stderr, characters)]
  const isCut = truncated || out.truncated || err.truncated
  return {
    ...{ id, status, reason, exitCode, seconds },
    ...ofSession({ stdout: out.text, stderr: err.text, truncated: isCut }),
  }
}
