import { type RequestReply } from '#agent/contract'
import { type EngineClient, engineMessage, isEngineUnreachable, isMissing } from '../docker/engine-client.ts'
import { type Log } from '../log.ts'
import { removeContainer } from '../docker/remove-container.ts'
import { readLogs, stopContainer } from './containers.ts'

const LOG_TAIL_BYTES = 64 * 1024
const LOG_TAIL_LINES = 10_000

export interface EndDeps {
  readonly engine: EngineClient
  readonly log: Log
}

/**
 * Stops a container, keeps its last words, and removes it.
 *
 * @returns what could be learnt; a container that is gone already has nothing to say
 * @throws the engine's error if the container is not removed
 */
export async function endContainer(
  { engine, log }: EndDeps,
  id: string,
  graceMs: number,
): Promise<RequestReply<'destroy_kernel'>> {
  /** Remove a container even if it cannot be stopped or read. Without an engine nothing can be done. */
  const tolerate =
    <T>(instead: T) =>
    (error: unknown): T => {
      if (isEngineUnreachable(error)) throw error
      if (!isMissing(error)) log.warn({ why: engineMessage(error) }, 'the engine refused')
      return instead
    }
  const exitCode = await stopContainer(engine, id, graceMs).catch(tolerate(null))
  const limits = { tail: LOG_TAIL_LINES, limitBytes: LOG_TAIL_BYTES }
  const logs = await readLogs(engine, id, limits).catch(tolerate(undefined))
  await removeContainer(engine, id)
  return { exitCode, logTail: logs?.text ?? '' }
}
