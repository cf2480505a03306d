import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import {
  AppError,
  isAppError,
  isFinished,
  type Session,
  SessionId,
  type SessionStatus,
  type Task,
  TaskId,
} from '#manager/contract'
import { findSession } from '../find.ts'
import { readInput } from '../input.ts'
import { type CompatContext, type CompatRoute } from '../route.ts'

const SessionInput = z.object({
  sessionName: z.string().max(64).optional(),
  name: z.string().max(64).optional(),
  sessionId: z.string().max(64).optional(),
  ownerAccessKey: z.string().max(64).optional(),
  scope: z.string().max(64).optional(),
})
const TaskInput = z.object({ task_id: z.string().max(64) })

/** Events of sessions, from the events of Berth; and the progress of copies. */
export const EVENT_ROUTES: readonly CompatRoute[] = [
  { method: 'GET', path: '/events/session', handle: sessionEvents },
  { method: 'GET', path: '/events/background-task', handle: taskEvents },
]

/** Events of a session that reaches a state. */
const NAMES: Readonly<Record<SessionStatus, string>> = {
  PENDING: 'session_enqueued',
  SCHEDULED: 'session_scheduled',
  PREPARING: 'session_preparing',
  PULLING: 'session_preparing',
  RUNNING: 'session_started',
  TERMINATING: 'session_terminating',
  TERMINATED: 'session_terminated',
  CANCELLED: 'session_cancelled',
  ERROR: 'session_terminated',
}

const Hint = z.object({ topic: z.string(), id: z.string() })

/**
 * Clients parse the data of every event as JSON, and stop at one without, so nothing else is sent: the connection is kept alive by comments.
 * The stream of Berth behind it decides what the caller may learn, and ends with the keypair or sign-in.
 */
async function sessionEvents(context: CompatContext): Promise<undefined> {
  const { api, calls, request, reply } = context
  const input = await readInput(request, SessionInput)
  const wanted = input.sessionId ?? input.sessionName ?? input.name ?? '*'
  // A name is that of a session that may not be there yet; clients open the stream first.
  const isWanted = (session: Session) => wanted === '*' || session.id === wanted || session.name === wanted
  if (SessionId.safeParse(wanted).success) await findSession(api, wanted)
  const stream = await calls.send({ method: 'GET', path: '/api/v1/events', headers: { accept: 'text/event-stream' } })
  using _ = { [Symbol.dispose]: () => void stream.destroy() }
  await answer(context, async () => {
    const last = new Map<string, SessionStatus>()
    let event = ''
    for await (const line of createInterface({ input: stream, crlfDelay: Infinity })) {
      if (line.startsWith('event: ')) event = line.slice(7)
      if (event === 'ping' && line === '') reply.raw.write(': \n\n')
      if (event !== 'hint' || !line.startsWith('data: ')) continue
      const hint = Hint.parse(JSON.parse(line.slice(6)))
      if (hint.topic !== 'session') continue
      const session = await readSession(context, hint.id)
      if (!session || !isWanted(session) || last.get(session.id) === session.status) continue
      if (isFinished(session.status)) last.delete(session.id)
      else last.set(session.id, session.status)
      send(context, NAMES[session.status], tellEvent(session))
      if (session.kind === 'batch' && isFinished(session.status))
        send(context, session.result === 'success' ? 'session_success' : 'session_failure', tellEvent(session))
    }
  })
}

async function readSession({ api }: CompatContext, id: string): Promise<Session | undefined> {
  try {
    return await api.getSession({ params: { id: SessionId.parse(id) } })
  } catch (error) {
    // The session was deleted, or is none of the caller's any more.
    if (isAppError(error) && error.code === 'session_not_found') return undefined
    throw error
  }
}

const tellEvent = (session: Session) => ({
  sessionName: session.name,
  sessionId: session.id,
  kernelId: session.kernels[0]?.id ?? null,
  reason: session.reason.code,
  ownerAccessKey: '',
  clusterRole: 'main',
  clusterIdx: 1,
  exitCode: session.kernels[0]?.exitCode ?? null,
})

/** Sends events until `tell` ends. A failure breaks the connection, because the status of the answer was sent before. */
async function answer(context: CompatContext, tell: () => Promise<void>): Promise<void> {
  const { raw } = context.reply
  begin(context)
  try {
    await tell()
    raw.end()
  } catch (error) {
    if (!context.signal.aborted) raw.destroy(error as Error)
  }
}

function begin({ reply }: CompatContext): void {
  const own = Object.fromEntries(Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)]))
  reply.hijack()
  reply.raw.writeHead(200, { ...own, 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' })
  reply.raw.flushHeaders()
  reply.raw.write(': \n\n')
}

/** JSON holds no line breaks. */
function send({ reply }: CompatContext, event: string, data: unknown): void {
  reply.raw.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
}

const TASK_LOOK_MS = 500

/** The copy of a folder, by the id of the new folder, which is there also when the copy is complete; or a rescan of images. */
async function taskEvents(context: CompatContext): Promise<undefined> {
  const { request, signal } = context
  const { task_id } = await readInput(request, TaskInput)
  const look = await watchedTask(context, task_id)
  const tell = (event: string, message: string, progress: number) =>
    send(context, event, { task_id, bgtask_id: task_id, current_progress: progress, total_progress: 1, message })
  await answer(context, async () => {
    for (let isOver = false; !isOver && !signal.aborted;) {
      const task = await look()
      isOver = task?.status !== 'running'
      if (task && isOver && task.status !== 'done') tell(ENDS[task.status], task.error?.message ?? '', 0)
      else tell(isOver ? 'bgtask_done' : 'bgtask_updated', '', isOver ? 1 : 0)
      if (!isOver) await pause(TASK_LOOK_MS)
    }
    send(context, 'server_close', {})
  })
}

async function watchedTask({ api }: CompatContext, text: string): Promise<() => Promise<Task | undefined>> {
  const { items } = await api.listFolders()
  const folder = items.find(({ id }) => id === text)
  if (folder) return async () => (await api.listCopies({ params: { id: folder.id } })).items[0]
  const id = TaskId.safeParse(text)
  if (!id.success) throw new AppError('task_not_found')
  const look = () => api.getTask({ params: { id: id.data } })
  await look()
  return look
}

const ENDS = { failed: 'bgtask_failed', cancelled: 'bgtask_cancelled', running: 'bgtask_updated' } as const
