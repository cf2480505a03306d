import { setTimeout as delay } from 'node:timers/promises'
import { type Writable } from 'node:stream'
import { type ApiClient, type CommandResult, type CommandStream, ERRORS, isAppError } from '#manager/contract'
import { type Output } from '../output.ts'
import { pauseAfter } from '../poll.ts'

export interface FollowedCommand {
  readonly api: Pick<ApiClient, 'readCommandOutput' | 'getCommand'>
  readonly command: Pick<CommandResult, 'id' | 'sessionId'>
  readonly stdout: Writable
  readonly stderr: Writable
  /** Ends the following, not the command. */
  readonly signal: AbortSignal
  readonly output: Pick<Output, 'note'>
}

const WAIT_SECONDS = 25

/**
 * Prints what a command writes until it has ended, from the beginning. A connection that fails is tried again for as long as it takes: the
 * command goes on meanwhile, and its host keeps the last megabyte of each stream.
 *
 * @throws AppError `session_not_running`, `command_not_found` and others that do not pass; the signal's reason
 */
export async function followCommand(followed: FollowedCommand): Promise<CommandResult> {
  const { api, command, stdout, stderr } = followed
  await Promise.all([followStream(followed, 'stdout', stdout), followStream(followed, 'stderr', stderr)])
  const params = { id: command.sessionId, commandId: command.id }
  return await persist(followed, () =>
    api.getCommand({ params, query: { waitSeconds: WAIT_SECONDS }, signal: followed.signal }),
  )
}

async function followStream(followed: FollowedCommand, stream: CommandStream, to: Writable): Promise<void> {
  const { api, command, signal, output } = followed
  const params = { id: command.sessionId, commandId: command.id }
  let offset = 0
  for (;;) {
    const query = { stream, offset, encoding: 'base64' as const, waitSeconds: WAIT_SECONDS }
    const part = await persist(followed, () => api.readCommandOutput({ params, query, signal }))
    if (part.offset > offset)
      output.note(`berth: ${part.offset - offset} bytes of ${stream} are missing: more was written than is kept.`)
    const bytes = Buffer.from(part.text, 'base64')
    const { promise, resolve } = Promise.withResolvers<undefined>()
    // A reader that has left is no reason to leave the command.
    to.write(bytes, () => resolve(undefined))
    await promise
    offset = part.next
    if (part.ended) return
  }
}

/** Tries again after failures that pass. */
async function persist<T>({ signal, output }: FollowedCommand, ask: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  for (let isTold = false; ;) {
    signal.throwIfAborted()
    try {
      return await ask()
    } catch (error) {
      signal.throwIfAborted()
      // The session has ended, and its commands with it.
      if (!isAppError(error) || !ERRORS[error.code].retry || error.code === 'session_not_running') throw error
      if (!isTold) output.note(`berth: ${error.message} The command goes on; trying again.`)
      isTold = true
      await delay(pauseAfter(performance.now() - startedAt), undefined, { signal }).catch(() => undefined)
    }
  }
}
