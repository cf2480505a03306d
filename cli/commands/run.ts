import { type Command } from 'commander'
import { AppError, type Session } from '#manager/contract'
import { counted } from '../counted.ts'
import { agrees } from '../agrees.ts'
import { type Connection, connect } from '../config/connect.ts'
import { exitCodeOfCommand, NO_EXIT_CODE } from '../exec/exit-code.ts'
import { Interrupted, listenForInterrupt } from '../interrupt.ts'
import { createOutput, describeFailure, type Output } from '../output.ts'
import { optionHint } from '../option-hint.ts'
import { durationOption } from './duration.ts'
import { addLaunchOptions, type CreateFlags, launchOf, requireImage } from './session-create.ts'
import { collect } from './session-waiting.ts'
import { waitForCreated } from './wait-for-sessions.ts'

interface RunFlags extends CreateFlags {
  readonly out?: string[]
  readonly timeout?: number
  readonly keep?: true
}

/** Loaded late: other commands need neither. */
const loadFetch = () => import('../exec/fetch-path.ts')
const loadFollow = () => import('../exec/follow-command.ts')

/** The longest that a command may have. */
const LONGEST_SECONDS = 7 * 86_400

/** Adds `run`: a session for one command, from its launch to its end. */
export function addRunCommand(program: Command): void {
  addLaunchOptions(
    program
      .command('run <command...>')
      .description(
        'Launch a session, run a command in it, print what it writes, end the session: berth run --image berth/python:3.13 -- python3 -V',
      ),
  )
    .option('--out <path>', 'fetch this file or directory of the session into this directory; may be repeated', collect)
    .option('--timeout <time>', 'kill the command after this time, e.g. 90m (exit code 124)', durationOption)
    .option('--keep', 'leave the session running at the end')
    .addHelpText(
      'after',
      '\nWrite -- before the command. Exit codes as of `berth exec`. A lost connection is waited for: the command goes on. After Ctrl-C, you choose' +
        ' whether the session ends or goes on; without a terminal, it ends.',
    )
    .action(async (command: string[], flags: RunFlags, self: Command) => {
      const output = createOutput(false)
      try {
        process.exitCode = await launchAndRun(command, flags, output)
      } catch (error) {
        if (error instanceof Interrupted) throw error
        process.stderr.write(`${describeFailure(error, false)}${optionHint(error, self)}\n`)
        process.exitCode = NO_EXIT_CODE
      }
    })
}

async function launchAndRun(command: string[], flags: RunFlags, output: Output): Promise<number> {
  requireImage(flags)
  const { nameOf } = await loadFetch()
  flags.out?.forEach(nameOf)
  const connection = await connect()
  const { api } = connection
  // The command of a template is replaced, and one session is enough.
  const { count: _count, startupCommand: _command, runImageCommand: _program, ...body } = await launchOf(api, flags)
  // Ctrl-C must not leave a session behind that is being launched.
  using interrupt = listenForInterrupt()
  const { signal } = interrupt
  const { items, notices } = await api
    .createSession({ body: { ...body, kind: 'interactive' } })
    .catch((error: unknown) => {
      if (signal.aborted) output.note('berth: Nothing says whether the session was launched. See `berth session ls`.')
      throw error
    })
  for (const notice of notices) output.note(notice.message)
  const [session] = items
  if (!session) throw new AppError('internal', { why: 'The manager launched no session.' })
  let keeps = flags.keep ?? false
  try {
    return await runIn(connection, session, { command, flags, output, signal })
  } catch (error) {
    if (signal.aborted) keeps = flags.keep ?? !(await shallEnd(session))
    throw signal.aborted ? signal.reason : error
  } finally {
    if (keeps) output.note(`berth: Session ${session.name} goes on. \`berth session rm ${session.name}\` ends it.`)
    else await endSession(connection, session, output)
  }
}

async function runIn(
  connection: Connection,
  session: Session,
  how: {
    readonly command: string[]
    readonly flags: RunFlags
    readonly output: Output
    readonly signal: AbortSignal
  },
): Promise<number> {
  const { api } = connection
  const { command: words, flags, output, signal } = how
  await waitForCreated({ api, sessions: [session], signal, output })
  signal.throwIfAborted()
  const body = { command: words, timeoutSeconds: flags.timeout ?? LONGEST_SECONDS }
  const command = await api.runCommand({ params: { id: session.id }, body, signal })
  const { followCommand } = await loadFollow()
  const { stdout, stderr } = process
  const { reason, exitCode } = await followCommand({ api, command, stdout, stderr, signal, output })
  const { fetchPath } = await loadFetch()
  for (const path of flags.out ?? []) {
    const leftOut = await fetchPath(connection, { sessionId: session.id, path, directory: process.cwd() })
    if (leftOut > 0)
      output.note(`berth: left out of ${path}: ${counted(leftOut, 'link or special file', 'links or special files')}.`)
    signal.throwIfAborted()
  }
  return exitCodeOfCommand({ reason: reason ?? 'lost', exitCode }, output)
}

/** Asks whether the session shall end; without a terminal it does, because nobody else would end it. */
async function shallEnd({ name }: Session): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return true
  return await agrees(`\nEnd session ${name}? Otherwise it goes on, with the command.`, '')
}

async function endSession({ api }: Connection, { id, name }: Session, output: Output): Promise<void> {
  try {
    await api.deleteSession({ params: { id } })
  } catch (error) {
    output.note(
      `${describeFailure(error, false)}\nberth: Session ${name} was not ended. Try \`berth session rm ${name}\`.`,
    )
  }
}
