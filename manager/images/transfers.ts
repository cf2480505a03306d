import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ImageOffer } from '#agent/contract'
import { type AgentId, AppError, because } from '#manager/contract'
import { type Log } from '../log.ts'
import { listHeldImages } from '../store/images/images.ts'
import { readHolders } from '../store/images/image-transfers.ts'
import { type Db } from '../store/schema.ts'
import { planTransfers, type RunningTransfer, type WaitingTransfer } from './plan-transfers.ts'

/** Joins a data socket of one agent to one of another. @returns bytes that went over @throws AppError `agent_unreachable`; the signal's reason */
export type JoinAgents = (
  ends: { from: AgentId; to: AgentId; transferId: string; id: string },
  signal: AbortSignal,
) => Promise<number>

export interface ImageTransfers {
  /**
   * The image as an agent takes it from another one; undefined if no agent that is connected here has it.
   * @param reference the name that it gets; left out: the names that it has elsewhere
   */
  offer(digest: string, to: AgentId, reference?: string): Promise<ImageOffer | undefined>
  /**
   * Runs a request that takes the offered image. Until it ends, sockets of agents that have the image are joined to the taker, one after the
   * other where they break. @param onGiver is told each agent that begins to give
   */
  during<T>(offer: ImageOffer, to: AgentId, run: () => Promise<T>, onGiver?: (from: AgentId) => void): Promise<T>
  /** Bytes per second of the last transfer, the engine of the giver included; undefined before the first. */
  rate(): number | undefined
}

export interface ImageTransfersDeps {
  readonly db: Db
  readonly agents: { isReady(id: AgentId): boolean }
  readonly join: JoinAgents
  readonly log: Pick<Log, 'info'>
  readonly timings?: Partial<typeof TIMINGS>
}

const TIMINGS = {
  /** Agents come back, and images appear, without a word to this part. */
  againMs: 2_000,
  /** A taker that has failed for good says so within this time; then nothing is joined any more. */
  pauseMs: 500,
  /** A taker that has used none of MANY_JOINS sockets loads the image, or is of an older version and asks a registry. */
  longPauseMs: 10_000,
}
/** More than the broken transfers after which a taker gives up. */
const MANY_JOINS = 6
const MOST_NAMES = 100
/** The time of a copy of fewer bytes is mostly that of the engines. */
const WORTH_MEASURING = 2 ** 20

interface Wanted extends WaitingTransfer {
  readonly offer: ImageOffer
  readonly failures: Map<AgentId, number>
  readonly signal: AbortSignal
  readonly onGiver: ((from: AgentId) => void) | undefined
}

/**
 * Images that agents take from each other through this manager, by its leave (ADR 93).
 *
 * Threat model: an agent gives an image only because a socket of this manager says so, and names the one image; the taker names none. The
 * callers decide whether an agent may have an image: it is the image of a session that was placed there, or a superadmin asks. The bytes are
 * not kept. What the agents say to each other is checked by the taker, not here.
 */
export function createImageTransfers({ db, agents, join, log, timings }: ImageTransfersDeps): ImageTransfers {
  const times = { ...TIMINGS, ...timings }
  const waiting = new Set<Wanted>()
  const running = new Set<RunningTransfer>()
  let rate: number | undefined
  let planning = false
  let again = false
  let timer: NodeJS.Timeout | undefined

  function plan(): void {
    again = planning
    if (planning) return
    planning = true
    start()
      .catch((error: unknown) => log.info({ err: error }, 'images to give could not be looked up'))
      .finally(() => {
        planning = false
        if (again) plan()
        clearTimeout(timer)
        if (waiting.size > 0) timer = setTimeout(plan, times.againMs).unref()
      })
  }

  async function start(): Promise<void> {
    if (waiting.size === 0) return
    const holders = await readHolders(
      db,
      Array.from(waiting, ({ digest }) => digest),
    )
    const isConnected = (id: AgentId) => agents.isReady(id)
    const state = { waiting: [...waiting], running: [...running], holders, isConnected }
    for (const { wanted, from } of planTransfers(state)) {
      waiting.delete(wanted)
      void give(wanted, from)
    }
  }

  async function give(wanted: Wanted, from: AgentId): Promise<void> {
    const { digest, to, offer, signal, failures } = wanted
    const one = { digest, from, to }
    running.add(one)
    wanted.onGiver?.(from)
    const startedAt = performance.now()
    try {
      const bytes = await join({ from, to, transferId: offer.transferId, id: offer.id }, signal)
      if (bytes >= WORTH_MEASURING) rate = (bytes * 1000) / Math.max(1, performance.now() - startedAt)
      log.info({ image: digest, from, to, bytes }, 'an image went from one agent to another')
    } catch (error) {
      if (!signal.aborted) log.info({ image: digest, from, to, why: String(error) }, 'an agent did not give an image')
    }
    // If the taker has the image, its request ends now.
    await sleep(times.pauseMs, undefined, { signal }).catch(() => undefined)
    running.delete(one)
    failures.set(from, (failures.get(from) ?? 0) + 1)
    const joins = [...failures.values()].reduce((sum, count) => sum + count, 0)
    if (joins >= MANY_JOINS) {
      plan()
      await sleep(times.longPauseMs, undefined, { signal }).catch(() => undefined)
    }
    if (!signal.aborted) waiting.add(wanted)
    plan()
  }

  return {
    rate: () => rate,
    async offer(digest, to, reference) {
      const holders = (await readHolders(db, [digest])).get(digest) ?? []
      const [giver] = holders.filter(id => id !== to && agents.isReady(id))
      if (giver === undefined || !/^sha256:[0-9a-f]{64}$/.test(digest)) return undefined
      const copy = (await listHeldImages(db, giver)).find(({ image }) => image.id === digest)
      if (!copy) return undefined
      const references = (reference === undefined ? copy.image.references : [reference]).slice(0, MOST_NAMES)
      return { transferId: randomUUID(), id: digest, references: [...references], sizeBytes: copy.image.sizeBytes }
    },
    async during(offer, to, run, onGiver) {
      const ended = new AbortController()
      const wanted = {
        digest: offer.id,
        to,
        offer,
        failures: new Map<AgentId, number>(),
        signal: ended.signal,
        onGiver,
      }
      waiting.add(wanted)
      plan()
      try {
        return await run()
      } finally {
        ended.abort()
        waiting.delete(wanted)
      }
    },
  }
}

/** For an image that no connected agent has. */
export const noGiver = (reference: string) =>
  new AppError('image_not_found', { ...because('transfer_no_giver', { image: reference }), image: reference })
