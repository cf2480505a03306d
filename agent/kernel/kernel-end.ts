import { type RequestReply, type StoppedFor } from '#agent/contract'
import { AppError, because, type KernelId } from '#manager/contract'
import { type EngineClient, engineMessage, isEngineUnreachable, isMissing, statusOf } from '../docker/engine-client.ts'
import { type Log } from '../log.ts'
import { endContainer } from './end-container.ts'
import { type Entry, type KernelEntries } from './kernel-entries.ts'
import { type KeptLogs } from './kept-logs.ts'
import { type KernelFiles } from './kernel-files.ts'
import { type LiveFolders } from './live-folders.ts'
import { type NetworkUse } from './network-use.ts'

/** How kernels end: on request with everything that they hold, or by a kill that the next report explains. */
export interface KernelEnd {
  /**
   * Calls for the same kernel share one destruction. Safe to repeat.
   *
   * @param attempt latest attempt to destroy; a newer one is not touched
   * @param keepFilesMs minimum time for which the home is kept, for a kernel that will continue with it
   */
  readonly destroy: (
    kernelId: KernelId,
    graceMs: number,
    attempt?: number,
    keepFilesMs?: number,
  ) => Promise<RequestReply<'destroy_kernel'>>
  /** Kills a running kernel; its end is reported with this reason. Safe to repeat. */
  readonly halt: (kernelId: string, why: StoppedFor) => Promise<void>
}

export interface KernelEndDeps {
  readonly engine: EngineClient
  readonly files: Pick<KernelFiles, 'discard'>
  readonly keptLogs: Pick<KeptLogs, 'keep' | 'discard'>
  readonly liveFolders: Pick<LiveFolders, 'discard'>
  readonly entries: KernelEntries
  readonly networkUse: Pick<NetworkUse, 'leave'>
  /** Whether the entries match the engine: then a kernel without an entry does not exist. */
  readonly isKnown: () => boolean
  readonly log: Log
}

/** Reply for a kernel that left neither exit code nor log. */
const NO_WORDS: RequestReply<'destroy_kernel'> = { exitCode: null, logTail: '' }

export function createKernelEnd(deps: KernelEndDeps): KernelEnd {
  const { engine, files, keptLogs, liveFolders, entries, networkUse, isKnown, log } = deps

  async function takeDown(entry: Entry, graceMs: number, keepMs: number): Promise<RequestReply<'destroy_kernel'>> {
    const { kernelId } = entry.label
    if (entry.creation) {
      entry.creation.abort(new AppError('kernel_create_failed', because('session_terminated')))
      await entry.creation.promise.catch(() => undefined)
      // The abort may have come too late; then there is a container to remove.
      if (!entries.get(kernelId)) return NO_WORDS
    }
    await entry.clearing?.catch(() => undefined)
    const id = entries.get(kernelId)?.containerId ?? null
    let words = NO_WORDS
    try {
      if (id !== null) words = await endContainer({ engine, keptLogs, log }, { id, kernelId }, graceMs)
      await networkUse.leave(entry.label)
    } catch (error) {
      throw isEngineUnreachable(error)
        ? new AppError('engine_unreachable', because('docker_says', { text: engineMessage(error) }), { cause: error })
        : error
    }
    await liveFolders.discard(kernelId)
    await files.discard(kernelId, { scratch: 'keep', keepMs })
    entries.forget(kernelId)
    log.info({ kernelId, exitCode: words.exitCode }, 'kernel ended')
    return words
  }

  return {
    async destroy(kernelId, graceMs, attempt = Infinity, keepFilesMs = 0) {
      const entry = entries.get(kernelId)
      if (!entry) {
        if (!isKnown()) throw new AppError('engine_unreachable', because('docker_not_read'))
        await liveFolders.discard(kernelId)
        // The home may have been kept for a kernel that will not be started.
        await files.discard(kernelId, { scratch: 'keep', keepMs: keepFilesMs })
        return NO_WORDS
      }
      // The request came late: a newer attempt has replaced the one it refers to.
      if (entry.label.attempt > attempt) return NO_WORDS
      entry.destruction ??= takeDown(entry, graceMs, keepFilesMs).finally(() => {
        const current = entries.get(kernelId)
        if (current) delete current.destruction
      })
      return entry.destruction
    },
    async halt(kernelId, why) {
      const entry = entries.get(kernelId)
      if (entry?.state.state !== 'running' || entry.destruction) return
      const { containerId } = entry.state
      entries.noteHalt(containerId, why)
      await engine.calls
        .getContainer(containerId)
        .kill()
        .catch((error: unknown) => {
          // 409: the container has meanwhile ended on its own.
          if (!isMissing(error) && statusOf(error) !== 409) throw error
        })
    },
  }
}
