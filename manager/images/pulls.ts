import {
  type AgentId,
  type AgentPull,
  AppError,
  because,
  causeIn,
  failureText,
  type PullProgress,
  type PullSpec,
  type Task,
  together,
  toWireError,
  type WireError,
} from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type Registries } from '../registries/registries.ts'
import { type AgentRow, listAgents } from '../store/agents/agents.ts'
import { resolveImageAlias } from '../store/images/image-aliases.ts'
import { newUuid } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { type Caller } from '../users/authorize.ts'
import { chosenAgents } from './chosen-agents.ts'
import { readKnownImages } from './known-images.ts'
import { type ImageTransfers, noGiver } from './transfers.ts'
import { type Tasks } from '../tasks/tasks.ts'
import { RECHECK_MS, whileSuperadmin } from '../tasks/while-superadmin.ts'

/** Pulls of images to agents that a superadmin requests before any session needs them. They end when that person is no superadmin any more. */
export interface Pulls {
  /** @throws AppError `agent_not_found`, `resource_group_not_found`, `bad_request`; from agents `image_not_found`, `image_ambiguous` */
  start(caller: Caller, spec: PullSpec): Promise<Task>
  /** Calls `listener` with the progress that an agent reports under this id. @returns a function that stops listening */
  follow(agentId: AgentId, pullId: string, listener: (progress: PullProgress) => void): () => void
  /** Handles an agent's progress report on a pull. */
  onProgress(agentId: AgentId, pullId: string, progress: PullProgress): void
}

/** An image that agents have under a name. */
interface HeldUnderName {
  readonly digest: string
  /** Agents that have it. */
  readonly agentIds: readonly AgentId[]
}

export interface PullsDeps {
  readonly store: Store
  readonly agents: AgentRequests
  readonly registries: Pick<Registries, 'authOf'>
  readonly transfers: Pick<ImageTransfers, 'offer' | 'during'>
  readonly tasks: Tasks
  readonly recheckMs?: number
}

/** Number of agents that pull at the same time, because the registry has to serve them all. */
const AT_ONCE = 8
const TIMEOUT_MS = 2 * 60 * 60_000

export function createPulls({ store, agents, registries, transfers, tasks, recheckMs = RECHECK_MS }: PullsDeps): Pulls {
  const listeners = new Map<string, (progress: PullProgress) => void>()
  const keyOf = (agentId: AgentId, pullId: string) => `${agentId}/${pullId}`

  async function pullAll(
    rows: readonly AgentRow[],
    {
      reference,
      held,
      signal,
      report,
    }: {
      reference: string
      /** Left out: the image comes from its registry. */
      held: HeldUnderName | undefined
      signal: AbortSignal
      report: (pulls: AgentPull[]) => void
    },
  ): Promise<void> {
    const states = new Map(rows.map(row => [row.id, waiting(row)]))
    const change = (id: AgentId, next: Partial<AgentPull>) => {
      const state = states.get(id)
      if (state) states.set(id, { ...state, ...next })
      report([...states.values()])
    }
    // The password is decrypted only when the pull begins, and kept only until it ends.
    const auth = held ? undefined : await registries.authOf(reference)
    const names = new Map((held ? await listAgents(store.db) : []).map(({ id, name }) => [id, name]))
    const failures = new Map<AgentId, WireError>()
    const pullOne = async ({ id }: AgentRow) => {
      const pullId = newUuid()
      listeners.set(keyOf(id, pullId), progress => change(id, { progress }))
      change(id, { status: 'pulling' })
      try {
        const options = { timeoutMs: TIMEOUT_MS, signal }
        if (held === undefined) {
          await agents.request(id, 'pull_image', { reference, pullId, ...(auth ? { auth } : {}) }, options)
        } else if (!held.agentIds.includes(id)) {
          const offer = await transfers.offer(held.digest, id, reference)
          if (!offer) throw noGiver(reference)
          await transfers.during(
            offer,
            id,
            () => agents.request(id, 'take_image', { offer, pullId }, options),
            giver => change(id, { from: names.get(giver) ?? giver }),
          )
        }
        change(id, { status: 'done' })
      } catch (error) {
        if (signal.aborted) return
        const failure = toWireError(error)
        failures.set(id, failure)
        change(id, { status: 'failed', error: failureText(error) })
      } finally {
        listeners.delete(keyOf(id, pullId))
      }
    }
    const queue = [...rows]
    const worker = async () => {
      for (let row = queue.shift(); row && !signal.aborted; row = queue.shift()) await pullOne(row)
    }
    await Promise.all(Array.from({ length: held ? 1 : AT_ONCE }, worker))
    for (const { agentId, status } of states.values()) {
      if (status === 'waiting' || status === 'pulling') change(agentId, { status: 'cancelled' })
    }
    signal.throwIfAborted()
    const failed = [...states.values()].filter(({ status }) => status === 'failed')
    const [first] = failed
    if (!first) return
    const { code, message, detail } = failures.get(first.agentId) ?? toWireError(undefined)
    const said = causeIn(detail) ?? because('agent_says', { text: first.error?.message ?? message })
    const why = together(because('pull_failed_on', { failed: failed.length, all: rows.length }), said)
    throw new AppError(code, { reference, ...why })
  }

  /**
   * The image that agents hold under this name; if they hold several, the wanted one, else the one that a registry offers under the name.
   *
   * @param wanted digest
   * @throws AppError `image_not_found` if none has it; `image_ambiguous`: no host decides what a name means on others
   */
  async function heldAs(reference: string, wanted: string | undefined): Promise<HeldUnderName> {
    const { held, offered } = await readKnownImages(store.db, null, [reference])
    const known = offered.get(reference)
    const copies = Map.groupBy(
      held.filter(({ image }) => image.references.includes(reference)),
      ({ image }) => image.id,
    )
    const digests = [...copies.keys()]
    const isMeant = (one: string) =>
      wanted === undefined
        ? digests.length === 1 || one === known?.image.id || one === known?.manifestDigest
        : one === wanted
    const digest = digests.find(isMeant)
    if (digest !== undefined) return { digest, agentIds: (copies.get(digest) ?? []).map(({ agentId }) => agentId) }
    if (wanted !== undefined || digests.length === 0) throw noGiver(reference)
    const sorted = digests.toSorted()
    throw new AppError('image_ambiguous', {
      ...because('transfer_several', { image: reference, digests: sorted.join(', ') }),
      digests: sorted,
    })
  }

  return {
    async start(caller, { reference: wanted, from, digest, ...where }) {
      const reference = await resolveImageAlias(store.db, wanted)
      const rows = await chosenAgents(store.db, where)
      const held = from === 'agents' ? await heldAs(reference, digest) : undefined
      return tasks.start({
        kind: 'pull',
        target: reference,
        startedBy: caller.email,
        detail: { rescan: null, pull: rows.map(waiting) },
        run: ({ signal, report }) =>
          whileSuperadmin({ db: store.db, starter: caller.userId, signal, recheckMs }, until =>
            pullAll(rows, { reference, held, signal: until, report: pull => report({ rescan: null, pull }) }),
          ),
      })
    },
    follow(agentId, pullId, listener) {
      const key = keyOf(agentId, pullId)
      listeners.set(key, listener)
      return () => void listeners.delete(key)
    },
    onProgress: (agentId, pullId, progress) => listeners.get(keyOf(agentId, pullId))?.(progress),
  }
}

function waiting({ id, name }: AgentRow): AgentPull {
  return { agentId: id, agentName: name, status: 'waiting', progress: null, error: null }
}
