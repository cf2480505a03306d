import { z } from 'zod'
import { EnvironmentName } from '../apps/app-options.ts'
import { utf8Length } from '../storage/file-paths.ts'
import { KernelId, SessionId } from '../ids.ts'
import { TextUpTo } from '../plain-text.ts'
import { withVariableLimit } from './session-bytes.ts'

/** Bytes of each stream of a command that are kept: the last ones, if it writes more. */
export const KEPT_OUTPUT_BYTES = 2 ** 20
/** Bytes of a command's words together, or of its text, which the shell gets as one argument: Linux limits an argument to 128 KiB. */
const COMMAND_BYTES = 64 * 1024
const MOST_WORDS = 1_000
const STDIN_BYTES = 256 * 1024
/** A command without a limit of its own, unless it is attached. */
export const USUAL_COMMAND_SECONDS = 600
const LONGEST_COMMAND_SECONDS = 7 * 86_400
export const LONGEST_WAIT_SECONDS = 50
/** Characters of a command that its description and the audit log show. */
const SHOWN = 200

/** NUL ends an argument, whatever follows it. */
const ArgumentUpTo = (most: number) => TextUpTo(most).regex(/^[^\0]*$/, 'must not hold NUL')
const Argument = ArgumentUpTo(COMMAND_BYTES)
const bytesOf = (words: readonly string[]) => words.reduce((sum, word) => sum + utf8Length(word), 0)
const tooLong = `at most ${COMMAND_BYTES / 1024} KiB`

export const CommandId = z.uuid()

export const CommandWords = z.union([
  z
    .array(Argument)
    .min(1)
    .max(MOST_WORDS)
    .refine(([first]) => first !== '', 'the first word names the program')
    .refine(words => bytesOf(words) <= COMMAND_BYTES, tooLong),
  Argument.min(1).refine(text => utf8Length(text) <= COMMAND_BYTES, tooLong),
])

/** Request for a command in a running session. */
export const CommandSpec = z
  .strictObject({
    command: CommandWords.describe(
      'A list of words: the program and its arguments, as they are. Or one text, for the shell of the image. At most 64 KiB. The first 200 characters are in the audit log: put secrets into `environ` or `stdin`.',
    ),
    stdin: TextUpTo(STDIN_BYTES)
      .refine(text => utf8Length(text) <= STDIN_BYTES, `at most ${STDIN_BYTES / 1024} KiB`)
      .optional()
      .describe('Standard input, at most 256 KiB; it ends after this. Not for attached commands.'),
    workingDirectory: ArgumentUpTo(4_096)
      .optional()
      .describe('Absolute, or below the home. Default: the home. If it cannot be entered, the exit code is 126.'),
    environ: withVariableLimit(
      z
        .record(
          EnvironmentName.refine(name => !name.startsWith('BERTH_'), 'is set by Berth itself'),
          ArgumentUpTo(32_768),
        )
        .default({})
        .refine(environ => Object.keys(environ).length <= 200, 'at most 200 variables'),
    ).describe('Variables beside those of the session: at most 200, with at most 64 KiB together.'),
    timeoutSeconds: z
      .int()
      .min(1)
      .max(LONGEST_COMMAND_SECONDS)
      .optional()
      .describe(
        'The command and everything that it has started are killed after this time, at most 7 days. Default: 600; an attached command has no limit by default.',
      ),
    kernel: TextUpTo(64).optional().describe('Role (sub1) or id of the container; default main1.'),
    waitSeconds: z
      .int()
      .min(0)
      .max(LONGEST_WAIT_SECONDS)
      .default(0)
      .describe('Wait this long for the end, at most 50. If the command has ended by then, the answer has its output.'),
    attached: z
      .boolean()
      .default(false)
      .describe(
        'Nothing is kept: input and output travel by a WebSocket at `/stream/session/ID/command?id=COMMAND`. The command starts when it is open, within 30 seconds, and ends with it.',
      ),
  })
  .refine(({ attached, stdin }) => !attached || stdin === undefined, {
    path: ['stdin'],
    error: 'an attached command gets its input by its stream',
  })
export type CommandSpec = z.input<typeof CommandSpec>

/** Why a command is over. */
export const CommandReason = z
  .enum(['exited', 'time_limit', 'killed', 'lost'])
  .describe(
    '`exited`: by itself, or by a signal. `time_limit`: killed after its time. `killed`: by request, because its connection ended, or because whoever ran it may not use the session any more. `lost`: the container or its host ended first.',
  )
export type CommandReason = z.infer<typeof CommandReason>

export const CommandEnd = z.object({
  reason: CommandReason,
  exitCode: z.int().nullable().describe('128 and the number of a signal that ended it. Null unless it has `exited`.'),
})
export type CommandEnd = z.infer<typeof CommandEnd>

export const Command = z
  .object({
    id: CommandId,
    sessionId: SessionId,
    kernelId: KernelId,
    command: z.string().describe('The first 200 characters.'),
    attached: z.boolean(),
    status: z.enum(['RUNNING', 'ENDED']),
    startedAt: z.iso.datetime(),
    seconds: z.number().describe('How long it has run.'),
    exitCode: CommandEnd.shape.exitCode,
    reason: CommandReason.nullable().describe('Null while it runs.'),
    stdoutBytes: z.int().describe('Bytes that it has written to standard output; 0 if it is attached.'),
    stderrBytes: z.int(),
  })
  .meta({ id: 'Command' })
export type Command = z.infer<typeof Command>

/** A command, with its output once it has ended. */
export const CommandResult = Command.extend({
  stdout: z.string().optional().describe('Once it has ended: the last megabyte. Bytes that are not UTF-8 are U+FFFD.'),
  stderr: z.string().optional(),
  truncated: z.boolean().optional().describe('The beginning of one of the two is not there.'),
}).meta({ id: 'CommandResult' })
export type CommandResult = z.infer<typeof CommandResult>

export const CommandStream = z.enum(['stdout', 'stderr'])
export type CommandStream = z.infer<typeof CommandStream>

export const CommandOutput = z
  .object({
    offset: z
      .int()
      .describe('Place of the first byte. Larger than the requested one if what is between them is not kept.'),
    text: z.string().describe('In the encoding of the request: as UTF-8 text, or the bytes in Base64.'),
    next: z.int().describe('The `offset` of the next request.'),
    ended: z.boolean().describe('There is nothing more, and there never will be.'),
  })
  .meta({ id: 'CommandOutput' })
export type CommandOutput = z.infer<typeof CommandOutput>

/** How a command is shown, in one line: words that a shell would split are in quotes. */
export function shownCommand(command: z.infer<typeof CommandWords>): string {
  const text = typeof command === 'string' ? command : command.map(quoted).join(' ')
  const line = text.replaceAll(/\p{Cc}+/gu, ' ')
  return line.length > SHOWN ? `${line.slice(0, SHOWN - 1).toWellFormed()}…` : line
}

const quoted = (word: string) => (/^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)
