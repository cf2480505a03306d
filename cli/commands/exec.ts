import { type Command } from 'commander'
import { type CommandEnd } from '#manager/contract'
import { connectCommand } from '#proxy/connect-app'
import { type Connection, connect } from '../config/connect.ts'
import { exitCodeOfCommand, NO_EXIT_CODE } from '../exec/exit-code.ts'
import { createOutput, describeFailure } from '../output.ts'
import { durationOption } from './duration.ts'
import { findSession } from './find-session.ts'
import { collectVariable } from './variable-flag.ts'

interface ExecFlags {
  readonly interactive?: true
  readonly cwd?: string
  readonly env?: Record<string, string>
  readonly timeout?: number
  readonly kernel?: string
}

/** Adds `exec`: a command in a session, with its own streams and its own exit code. It needs no OpenSSH, here or there. */
export function addExecCommand(program: Command): void {
  program
    .command('exec <session> <command...>')
    .description('Run a command in a session, and exit with its exit code: berth exec exp -- python3 train.py')
    .option('-i, --interactive', 'pass standard input on to the command')
    .option('--cwd <directory>', 'directory in the session; default: the home')
    .option('--env <NAME=VALUE>', 'variable for the command, may be repeated', collectVariable)
    .option('--timeout <time>', 'kill the command after this time, e.g. 90m (exit code 124)', durationOption)
    .option('--kernel <role>', 'container of a session that has several, e.g. sub1')
    .addHelpText(
      'after',
      '\nWrite -- before a command with options of its own. Exit codes: that of the command, 128 and the number of a signal that ended it,' +
        ' 124 after --timeout, 255 if Berth could not run it. A third Ctrl-C, or other signal, kills the command. When this program ends, so does the command.',
    )
    .action(async (reference: string, command: string[], flags: ExecFlags) => {
      try {
        const connection = await connect()
        const { id } = await findSession(connection, reference)
        process.exitCode = exitCodeOfCommand(await runHere(connection, id, command, flags), createOutput(false))
      } catch (error) {
        process.stderr.write(`${describeFailure(error, false)}\n`)
        process.exitCode = NO_EXIT_CODE
      }
    })
}

/** Runs a command in a session on the streams of this process, which passes signals on. @throws AppError */
async function runHere(
  { api, endpoint, credentials }: Connection,
  sessionId: string,
  command: string[],
  { interactive, cwd, env, timeout, kernel }: ExecFlags,
): Promise<CommandEnd | 'reader_gone'> {
  const { id: commandId } = await api.runCommand({
    params: { id: sessionId },
    body: {
      command,
      attached: true,
      ...(cwd === undefined ? {} : { workingDirectory: cwd }),
      ...(env === undefined ? {} : { environ: env }),
      ...(timeout === undefined ? {} : { timeoutSeconds: timeout }),
      ...(kernel === undefined ? {} : { kernel }),
    },
  })
  const wire = await connectCommand({ managerUrl: endpoint, credentials, sessionId, commandId })
  const { carryCommand } = await import('../exec/attached-command.ts')
  const { stdout, stderr } = process
  const carried = carryCommand(wire, { stdin: interactive ? process.stdin : undefined, stdout, stderr })
  const { passSignals } = await import('../exec/pass-signals.ts')
  using passed = passSignals(name => carried.signal(name))
  return await Promise.race([carried.ended, passed.unheard])
}
