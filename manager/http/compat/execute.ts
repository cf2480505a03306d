import { z } from 'zod'
import { type ApiClient, isAppError, type CommandSpec, type Session } from '#manager/contract'
import { runAloud } from './run-command.ts'

/** A message of a client: code to run, or the steps of a batch job. */
const Message = z.object({
  mode: z.string().max(32),
  code: z.string().max(200_000).nullish(),
  options: z
    .object({
      clean: z.string().max(16_384).nullish(),
      build: z.string().max(16_384).nullish(),
      buildLog: z.boolean().nullish(),
      exec: z.string().max(16_384).nullish(),
    })
    .nullish(),
})

/** A part of the answer. `console` holds pairs of a stream and its text. */
export interface ExecutionAnswer {
  readonly status: 'continued' | 'clean-finished' | 'build-finished' | 'finished' | 'exec-timeout'
  readonly console: readonly (readonly ['stdout' | 'stderr', string])[]
  readonly exitCode: number | null
  readonly options: null
  readonly files: readonly never[]
}

export interface ExecutionDeps {
  readonly api: ApiClient
  readonly session: Session
  /** Resolves once the answer is on its way, so that no output gathers for a client that does not read. Never rejects. */
  readonly say: (answer: ExecutionAnswer) => Promise<void>
  /** Called once, after the last answer. */
  readonly end: () => void
  /** Aborted when the client leaves; then what runs is killed. */
  readonly signal: AbortSignal
}

export const COMMAND_SECONDS = 24 * 3_600
/** Stands for "what is usual for the image" in the steps of a batch job. */
const USUAL = '*'
/** Python, where the image has it; otherwise its shell. */
export const RUN_CODE = `if command -v python3 >/dev/null 2>&1; then exec python3 -c "$0"; else exec sh -c "$0"; fi`
const USUAL_EXEC = `if [ -f main.py ]; then exec python3 main.py; elif [ -f main.sh ]; then exec sh main.sh; else echo "There is no main.py: name a command with --exec." >&2; exit 127; fi`
const USUAL_BUILD = `if [ -f Makefile ]; then exec make; elif [ -f setup.py ]; then exec python3 -m pip install --user .; fi`

/**
 * Runs what a client sends over the WebSocket of an execution, by commands in the session. Each query is a program of its own: nothing of
 * it is left for the next one, other than in the original, where an interpreter waits between them.
 */
export function createExecution({ api, session, say, end, signal }: ExecutionDeps): { take(text: string): void } {
  let isTaken = false

  const tell = (
    status: ExecutionAnswer['status'],
    exitCode: number | null = null,
    text?: readonly ['stdout' | 'stderr', string],
  ) => say({ status, console: text ? [text] : [], exitCode, options: null, files: [] })

  async function step(
    command: CommandSpec['command'],
    status: ExecutionAnswer['status'],
    isLoud = true,
  ): Promise<number> {
    const spec = { command, timeoutSeconds: COMMAND_SECONDS }
    const { exitCode, reason } = await runAloud(api, session.id, {
      spec,
      say: async (stream, text) => {
        if (isLoud) await tell('continued', null, [stream, text])
      },
      signal,
    })
    const code = exitCode ?? 1
    await tell(reason === 'time_limit' ? 'exec-timeout' : status, code)
    return code
  }

  async function run(text: string): Promise<void> {
    const { mode, code, options } = Message.parse(JSON.parse(text))
    if (mode === 'query') {
      await step(['sh', '-c', RUN_CODE, code ?? ''], 'finished')
      return
    }
    if (mode !== 'batch') {
      await tell('finished', 1, ['stderr', `Berth does not run the mode "${mode.slice(0, 32)}".\n`])
      return
    }
    const { clean, build, buildLog, exec } = options ?? {}
    if (clean) await step(commandOf(clean, 'true'), 'clean-finished')
    if (build) {
      const failed = await step(commandOf(build, USUAL_BUILD), 'build-finished', buildLog !== false)
      if (failed !== 0) {
        await tell('finished', failed)
        return
      }
    }
    await step(commandOf(exec ?? USUAL, USUAL_EXEC), 'finished')
  }

  return {
    take(text) {
      // A client sends one message; further ones would answer an input prompt, and no program here waits for one.
      if (isTaken) return
      isTaken = true
      run(text)
        .catch(async (error: unknown) => {
          const why = isAppError(error) ? error.message : 'The message is not one of an execution.'
          await tell('finished', 1, ['stderr', `${why}\n`])
        })
        .finally(end)
    },
  }
}

const commandOf = (text: string, usual: string): string[] => ['sh', '-c', text === USUAL ? usual : text]
