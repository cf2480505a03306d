import { LOG_CUT, type RequestReply } from '#agent/contract'
import { type EngineClient, engineMessage, isEngineUnreachable, isMissing } from '../docker/engine-client.ts'
import { type Log } from '../log.ts'
import { removeContainer } from '../docker/remove-container.ts'
import { readLogs, stopContainer } from './containers.ts'
import { type KeptLogs } from './kept-logs.ts'

const LOG_TAIL_BYTES = 64 * 1024
const LOG_TAIL_LINES = 10_000

export interface EndDeps {
  readonly engine: EngineClient
  readonly keptLogs: Pick<KeptLogs, 'keep' | 'discard'>
  readonly log: Log
}

/**
 * Stops a container, reads the end of its log, keeps a longer log in a file, and removes the container.
 *
 * @returns exit code and end of the log, as far as they could be read; both are empty for a container that is gone already
 *
 * @throws the engine's error if the container is not removed
 */
export async function endContainer(
  { engine, keptLogs, log }: EndDeps,
  { id, kernelId }: { readonly id: string; readonly kernelId: string },
  graceMs: number,
): Promise<RequestReply<'destroy_kernel'>> {
  /** Ignores errors, so that a container is removed even if it cannot be stopped or read; an unreachable engine still fails. */
  const tolerate =
    <T>(instead: T) =>
    (error: unknown): T => {
      if (isEngineUnreachable(error)) throw error
      if (!isMissing(error)) log.warn({ kernelId, why: engineMessage(error) }, 'a step of the end of a kernel failed')
      return instead
    }
  const exitCode = await stopContainer(engine, id, graceMs).catch(tolerate(null))
  const limits = { tail: LOG_TAIL_LINES, limitBytes: LOG_TAIL_BYTES }
  const logs = await readLogs(engine, id, limits).catch(tolerate(undefined))
  const keeping = logs?.truncated ? keptLogs.keep(kernelId, id) : keptLogs.discard(kernelId)
  await keeping.catch(tolerate(undefined))
  await removeContainer(engine, id)
  const { text, truncated } = logs ?? { text: '', truncated: false }
  return { exitCode, logTail: truncated ? `${LOG_CUT}\n${text}` : text }
}
