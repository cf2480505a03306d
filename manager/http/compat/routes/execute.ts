import { z } from 'zod'
import { type ApiClient, AppError, type SessionId } from '#manager/contract'
import { COMMAND_SECONDS, RUN_CODE } from '../execute.ts'
import { NotOffered } from '../errors.ts'
import { findSession } from '../find.ts'
import { readInput } from '../input.ts'
import { type CompatContext, type CompatRoute } from '../route.ts'

const Input = z.object({
  mode: z.string().max(32),
  code: z.string().max(200_000).default(''),
  runId: z.string().max(128).optional(),
  owner_access_key: z.string().max(64).optional(),
})

/** Clients give up after five seconds without an answer. */
const TURN_SECONDS = 3
const STREAMS = ['stdout', 'stderr'] as const

/**
 * Code without a WebSocket, in turns: the first request starts it, and each further one, in the mode `continue`, takes what has been written
 * since. The id of a run holds the command and how much of its output was taken, so that any manager can answer the next turn.
 */
export const EXECUTE_ROUTES: readonly CompatRoute[] = [{ method: 'POST', path: '/session/:session', handle: execute }]

interface Run {
  readonly commandId: string
  readonly taken: Readonly<Record<(typeof STREAMS)[number], number>>
}

async function execute({ api, params, request }: CompatContext): Promise<unknown> {
  const { mode, code, runId = '', owner_access_key: key } = await readInput(request, Input)
  if (mode !== 'query' && mode !== 'continue')
    throw new NotOffered(
      `Berth does not run the mode "${mode}" here, but "query" and "continue". Batch jobs run over the WebSocket /stream/session/ID/execute, as "run" does.`,
    )
  const { id } = await findSession(api, params.session ?? '', key)
  return { result: await takeTurn(api, id, mode === 'query' ? await begin(api, id, code) : readRun(runId)) }
}

async function begin(api: ApiClient, id: SessionId, code: string): Promise<Run> {
  const body = { command: ['sh', '-c', RUN_CODE, code], timeoutSeconds: COMMAND_SECONDS }
  const { id: commandId } = await api.runCommand({ params: { id }, body })
  return { commandId, taken: { stdout: 0, stderr: 0 } }
}

/** @throws AppError `bad_request` */
function readRun(runId: string): Run {
  const [, commandId, stdout, stderr] = /^([\w-]{1,64})\.(\d{1,15})\.(\d{1,15})$/.exec(runId) ?? []
  if (commandId === undefined)
    throw new AppError('bad_request', { why: 'runId: take the one of the answer before, which Berth chooses.' })
  return { commandId, taken: { stdout: Number(stdout), stderr: Number(stderr) } }
}

async function takeTurn(api: ApiClient, id: SessionId, { commandId, taken }: Run) {
  const params = { id, commandId }
  const { status, exitCode, reason } = await api.getCommand({ params, query: { waitSeconds: TURN_SECONDS } })
  const [stdout, stderr] = await Promise.all(
    STREAMS.map(stream => api.readCommandOutput({ params, query: { stream, offset: taken[stream] } })),
  )
  if (!stdout || !stderr) throw new AppError('internal')
  const hasEnded = status === 'ENDED' && stdout.ended && stderr.ended
  return {
    runId: `${commandId}.${stdout.next}.${stderr.next}`,
    status: hasEnded ? (reason === 'time_limit' ? 'exec-timeout' : 'finished') : 'continued',
    console: [
      ['stdout', stdout.text],
      ['stderr', stderr.text],
    ].filter(([, text]) => text !== ''),
    exitCode: hasEnded ? (exitCode ?? 1) : null,
    options: null,
    files: [],
  }
}
