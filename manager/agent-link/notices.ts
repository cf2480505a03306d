import { type RawData } from 'ws'
import { AppError, type AgentId, type Because } from '#manager/contract'
import { type createSparing, type Log } from '../log.ts'
import { watchArrivals } from './arrivals.ts'
import { type AgentConnection } from './connection.ts'
import { createInbox, type Inbox } from './inbox.ts'
import { type AgentListener, type Notice } from './listener.ts'
import { isLongReport, readLongReport, readMessage } from './read-message.ts'

/**
 * Messages of accepted agents: replies go to the request that waits for them, notices to the listener, for each agent one after the other
 * in the order of their arrival. If an agent sends faster than its notices are handled, reading from it pauses.
 */
export interface Notices {
  receive(connection: AgentConnection, data: RawData): void
  /** Runs after earlier messages of the agent. A failure is logged. @param what subject of the log line */
  enqueue(agentId: AgentId, what: string, work: () => Promise<void>): void
  /** Drops everything that has not started. */
  close(): void
  /** Resolves when nothing is queued or being handled. */
  idle(): Promise<void>
}

export interface NoticesDeps {
  readonly listener: Pick<AgentListener, 'message' | 'started'>
  /** Whether the connection has been replaced or closed: its notices are stale. */
  readonly isOver: (connection: AgentConnection) => boolean
  readonly log: Log
  /** Limits log lines that peers cause. */
  readonly sparing: ReturnType<typeof createSparing>
}

interface Waiting {
  readonly bytes: number
  readonly report?: Extract<Notice, { type: 'report' }> | undefined
  run(): Promise<void>
}

interface Arrived {
  readonly arrivedAt: number
  /** Problems with the message, for an admin. */
  readonly leftOut: readonly Because[]
}

export function createNotices({ listener, isOver, log, sparing }: NoticesDeps): Notices {
  const arrivals = watchArrivals()
  const inboxes = new Map<AgentId, Inbox<Waiting>>()
  let closed = false

  const inboxOf = (agentId: AgentId): Inbox<Waiting> => {
    const inbox = inboxes.get(agentId) ?? createInbox<Waiting>()
    inboxes.set(agentId, inbox)
    return inbox
  }

  async function run(agentId: AgentId, what: string, work: () => Promise<void>): Promise<void> {
    if (closed) return
    await work().catch((error: unknown) => log.error({ err: error, agentId }, `${what} of an agent failed`))
  }

  function ignore(agentId: AgentId, error: unknown): void {
    sparing(leftOut => log.warn({ err: error, agentId, leftOut }, 'control message ignored'))
  }

  function read(connection: AgentConnection, data: RawData): void {
    try {
      const text = textOf(data)
      if (isLongReport(text)) {
        takeLong(connection, text)
        return
      }
      const { message, leftOut } = readMessage(text)
      if (message.type === 'reply') connection.onReply(message)
      else if (message.type === 'join' || message.type === 'prove') throw new AppError('bad_request')
      else take(connection, message, { leftOut, bytes: text.length })
    } catch (error) {
      ignore(connection.agentId, error)
    }
  }

  function take(
    connection: AgentConnection,
    notice: Notice,
    { leftOut, bytes }: { leftOut: readonly Because[]; bytes: number },
  ): void {
    const { agentId } = connection
    const inbox = inboxOf(agentId)
    const arrivedAt = arrivals.time()
    let message = notice
    if (message.type === 'report') {
      // A report is complete, so only the newest of the queued ones counts. Images are reported only when they change:
      // keep those of the dropped report.
      const images = inbox.take(waiting => waiting.report !== undefined)?.report?.images
      if (images && !message.images) message = { ...message, images }
    }
    const report = message.type === 'report' ? message : undefined
    const work = () => handle(connection, message, { arrivedAt, leftOut })
    inbox.push({ bytes, report, run: () => run(agentId, message.type, work) })
  }

  /**
   * Queues a report with long lists. It is parsed only when its turn comes, and then in slices. It carries a full list of images, so no
   * later report replaces it.
   */
  function takeLong(connection: AgentConnection, text: string): void {
    const { agentId } = connection
    const arrivedAt = arrivals.time()
    const work = async () => {
      if (isOver(connection)) return
      const long = await readLongReport(text).catch((error: unknown) => ignore(agentId, error))
      if (long) await handle(connection, long.message, { arrivedAt, leftOut: long.leftOut })
    }
    inboxOf(agentId).push({ bytes: text.length, run: () => run(agentId, 'report', work) })
  }

  async function handle(connection: AgentConnection, message: Notice, { arrivedAt, leftOut }: Arrived): Promise<void> {
    const { agentId } = connection
    if (isOver(connection)) return
    const except = [...(await listener.message(agentId, message, arrivedAt, leftOut))]
    if (message.type !== 'report') return
    const { sequence } = message
    const started = [...listener.started(agentId, message)]
    const told = { ...(except.length > 0 ? { except } : {}), ...(started.length > 0 ? { started } : {}) }
    connection.send({ type: 'taken_up', sequence, ...told })
  }

  return {
    receive(connection, data) {
      read(connection, data)
      connection.holdUpFor(arrivals.time(), byteLength(data), () => inboxOf(connection.agentId).isFull)
    },
    enqueue(agentId, what, work) {
      inboxOf(agentId).push({ run: () => run(agentId, what, work), bytes: 0 })
    },
    close() {
      closed = true
      arrivals[Symbol.dispose]()
    },
    async idle() {
      await Promise.all([...inboxes.values()].map(inbox => inbox.idle()))
    },
  }
}

function byteLength(data: RawData): number {
  return Array.isArray(data) ? data.reduce((sum, { byteLength: bytes }) => sum + bytes, 0) : data.byteLength
}

function textOf(data: RawData): string {
  if (Buffer.isBuffer(data)) return data.toString('utf8')
  return Array.isArray(data) ? Buffer.concat(data).toString('utf8') : Buffer.from(data).toString('utf8')
}
