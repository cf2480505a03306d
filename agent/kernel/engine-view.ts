import { setTimeout as delay } from 'node:timers/promises'
import { type ManagerId } from '#manager/contract'
import { type EngineLimits } from '../docker/container-config.ts'
import { type EngineClient, engineMessage, isEngineUnreachable } from '../docker/engine-client.ts'
import { type LabelTrust } from '../docker/kernel-labels.ts'
import { removeContainer } from '../docker/remove-container.ts'
import { thawAbandoned } from '../limits/freeze.ts'
import { type Log } from '../log.ts'
import { type NetworksAhead } from '../network/networks-ahead.ts'
import { type SessionReach } from '../network/session-reach.ts'
import { type FoundContainer, inspectContainer, listContainers } from './containers.ts'
import { type Entry, type KernelEntries } from './kernel-entries.ts'
import { type KeptLogs } from './kept-logs.ts'
import { type KernelFiles } from './kernel-files.ts'
import { type LiveFolders } from './live-folders.ts'
import { sortContainers } from './kernel-rules.ts'
import { removeVolumesOf, sweepVolumes } from './kernel-volumes.ts'
import { type NetworkUse } from './network-use.ts'

/**
 * Keeps the entries equal to the state of the engine, which is the truth (docs/adr/0007): adopts containers, notices their ends, and cleans
 * up things without a kernel. Kernels are not touched while their creation or destruction is in flight.
 */
export interface EngineView {
  /** Whether the entries match the engine; false until the first look, and while the engine is away. */
  readonly known: boolean
  readonly limits: EngineLimits
  /** Compares with all containers of the manager's kernels; without a manager, only the limits are noted. */
  readonly rescan: (seen: EngineLimits) => Promise<void>
  /** The entries may differ from the engine until the next rescan. */
  readonly lose: () => void
  /** Handles an engine event of a container: inspects it in the background. */
  readonly containerChanged: (kernelId: string) => void
  /** Settles when the clean-up of files in flight, if any, has ended. */
  readonly swept: () => Promise<void>
}

export interface EngineViewDeps {
  readonly engine: EngineClient
  readonly keptLogs: Pick<KeptLogs, 'sweep'>
  readonly files: Pick<KernelFiles, 'user' | 'ownScratch' | 'discard' | 'sweep'>
  readonly liveFolders: Pick<LiveFolders, 'check' | 'discard' | 'sweep'>
  readonly entries: KernelEntries
  readonly networkUse: Pick<NetworkUse, 'leave' | 'sweep'>
  readonly ahead: Pick<NetworksAhead, 'refill' | 'forget'>
  readonly reach: Pick<SessionReach, 'resume'>
  readonly trust: LabelTrust
  readonly bootedAtSeconds: number | undefined
  /** The control plane to which the kernels belong; undefined before the first welcome. */
  readonly manager: () => ManagerId | undefined
  readonly stop: AbortSignal
  readonly log: Log
  /** Left out: by control groups. */
  readonly thaw?: typeof thawAbandoned
}

/** Delay before the second check: an overloaded engine is asked twice before a container counts as gone. */
const GONE_AGAIN_MS = 1_000

export function createEngineView(deps: EngineViewDeps): EngineView {
  const { engine, files, keptLogs, liveFolders, entries, networkUse, ahead, stop, log, thaw = thawAbandoned } = deps
  let limits: EngineLimits = { cpus: 0, memBytes: 0 }
  let known = false
  let sweeping: Promise<void> | undefined

  const context = (endedWhileEngineWasAway: boolean, ranUnderEngine = false) => ({
    trust: deps.trust,
    bootedAtSeconds: deps.bootedAtSeconds,
    endedWhileEngineWasAway,
    ranUnderEngine,
  })

  async function refresh(kernelId: string): Promise<void> {
    for (;;) {
      const entry = entries.get(kernelId)
      if (!entry?.containerId || entries.isBusy(kernelId)) return
      const found = await inspectContainer(engine, entry.containerId, context(false, known))
      // A faster check may have seen an older state: only a check of the current entry counts.
      if (entries.get(kernelId) !== entry) continue
      if (entries.isBusy(kernelId)) return
      if (found) entries.adopt(found)
      else if (await isGone(entry)) await clearGone(entry)
      return
    }
  }

  /** A container counts as gone when the engine itself says so, twice; its absence from a list proves nothing. */
  async function isGone(entry: Entry): Promise<boolean> {
    const { containerId } = entry
    if (containerId === null) return true
    const { kernelId } = entry.label
    for (const waitMs of [0, GONE_AGAIN_MS]) {
      if (waitMs > 0) await delay(waitMs, undefined, { signal: stop }).catch(() => undefined)
      if (await inspectContainer(engine, containerId, context(false, known))) return false
      if (stop.aborted || entries.get(kernelId) !== entry || entries.isBusy(kernelId)) return false
    }
    return true
  }

  /**
   * Cleans up after a container that was removed by someone else: its network and volumes, and its home after the retention.
   * The entry stays until the manager has learnt of it and requests its end.
   */
  async function clearGone(entry: Entry): Promise<void> {
    const { kernelId, managerId } = entry.label
    const clearing = Promise.all([
      networkUse.leave(entry.label),
      liveFolders.discard(kernelId).then(() => files.discard(kernelId, { scratch: 'keep' })),
      removeVolumesOf(engine, managerId, kernelId),
    ])
    entries.set(kernelId, { ...entry, state: { state: 'gone' }, address: null, pid: 0, clearing })
    await clearing
  }

  async function compare(managerId: ManagerId): Promise<void> {
    const afterOutage = !known
    const before = entries.snapshot()
    const ids = await listContainers(engine, managerId)
    const found = await Promise.all(ids.map(id => inspectContainer(engine, id, context(afterOutage))))
    const containers = found.filter(container => container !== undefined)
    // Removals come first: they leave the entries as they are.
    for (const { keep, container } of sortContainers(containers).toSorted((a, b) => Number(a.keep) - Number(b.keep))) {
      const { kernelId } = container.label
      // The entry has changed since the check began, so the check is outdated.
      if (entries.isBusy(kernelId) || entries.get(kernelId) !== before.get(kernelId)) continue
      if (keep && !before.has(kernelId)) {
        // An agent that crashed right after the start has not yet given the home to the session's user.
        await files.ownScratch(kernelId)
        await letContinue(container).catch(complainOfLeftover)
      }
      if (!keep) await removeContainer(engine, container.id)
      else if (afterOutage && before.get(kernelId)?.state.state !== 'running') {
        // This process never saw the container running, so only the boot time shows whether the engine ended it.
        const again = await inspectContainer(engine, container.id, context(false))
        if (again) entries.adopt(again)
      } else entries.adopt(container)
    }
    for (const [kernelId, entry] of before) {
      if (entries.get(kernelId) !== entry || entries.isBusy(kernelId)) continue
      if (containers.some(c => c.id === entry.containerId)) continue
      if (entry.state.state === 'gone' || !(await isGone(entry))) continue
      // If the removal fails now, the next clean-up retries it.
      await clearGone(entry).catch(complainOfLeftover)
    }
    // A kernel that is being ended has left, and its address may be another session's soon.
    for (const { label, address, state } of entries.values()) {
      if (state.state === 'running' && !entries.isBusy(label.kernelId)) await deps.reach.resume(label, address)
    }
    for (const kernel of entries.running()) await liveFolders.check(kernel).catch(complainOfLeftover)
    known = true
    ahead.refill()
  }

  async function letContinue(container: FoundContainer): Promise<void> {
    const isPaused = async () => (await inspectContainer(engine, container.id, context(false)))?.isPaused ?? true
    if (!(await thaw(container, isPaused))) return
    log.warn({ kernelId: container.label.kernelId }, 'a session that an agent had stopped before it was killed goes on')
  }

  /** Networks, volumes and files without a kernel were left by a crashed agent, or by containers that someone else removed. */
  async function sweep(managerId: ManagerId): Promise<void> {
    await networkUse.sweep(managerId, complainOfLeftover)
    await keptLogs.sweep(Date.now()).catch(complainOfLeftover)
    await liveFolders.sweep(entries.isLive, complainOfLeftover)
    await sweepVolumes(engine, managerId, { isLive: entries.isLive, complain: complainOfLeftover })
    // Runs in the background, one at a time: removing a large home takes minutes, and neither checks nor managers should wait.
    sweeping ??= files
      .sweep({ isLive: entries.isLive, nowMs: Date.now(), complain: complainOfLeftover, signal: stop })
      .catch(complainOfLeftover)
      .finally(() => (sweeping = undefined))
  }

  function complainOfLeftover(error: unknown): void {
    log.warn({ why: engineMessage(error) }, 'a left-over stays for now')
  }

  return {
    get known() {
      return known
    },
    get limits() {
      return limits
    },
    async rescan(seen) {
      limits = seen
      // Do this first: no session can start without a user to run as.
      await files.user()
      const managerId = deps.manager()
      if (!managerId) return
      await compare(managerId)
      await sweep(managerId)
    },
    lose() {
      known = false
      ahead.forget()
    },
    containerChanged(kernelId) {
      refresh(kernelId).catch((error: unknown) => {
        // The check after the outage will see the container.
        if (!isEngineUnreachable(error))
          log.error({ kernelId, why: engineMessage(error) }, 'a container cannot be read')
      })
    },
    swept: async () => sweeping,
  }
}
