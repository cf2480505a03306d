import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { within } from '#base/within'
import { LABEL_KERNEL_ID } from '#agent/contract'
import { parseJson } from '#base/parse-json'
import { type Log } from '../log.ts'
import { type EngineClient, engineMessage } from './engine-client.ts'
import { type EngineLimits } from './container-config.ts'
import { endStream, readLines } from './lines.ts'

export interface EngineState extends EngineLimits {
  readonly reachable: boolean
  /** Engine version; empty until the engine was reached once. */
  readonly version: string
  /** Architecture that the engine reports, such as `x86_64`; empty until the engine was reached once. */
  readonly architecture: string
}

export type EngineEvent =
  | { readonly type: 'kernel'; readonly action: string; readonly kernelId: string }
  | { readonly type: 'image'; readonly action: string }

export interface EngineWatchDeps {
  readonly engine: EngineClient
  readonly log: Log
  /** Called when the engine answers (again): check everything, because events may have been missed. A failure counts as engine down. */
  readonly onUp: (state: EngineState) => Promise<void>
  readonly onDown: () => void
  readonly onEvent: (event: EngineEvent) => void
}

export interface EngineWatch extends AsyncDisposable {
  readonly state: EngineState
  /** Resolves once it is known whether the engine is up and, if it is, after everything was checked. */
  readonly settled: Promise<unknown>
}

const RETRY_MS = 500
const PING_EVERY_MS = 5_000
/** A stopped (SIGSTOP) engine accepts connections and does not answer; an engine on an overloaded host answers late. */
const PING_TIMEOUT_MS = 5_000
/** Number of consecutive unanswered pings after which the engine counts as away; a refused connection counts at once. */
const SILENT_PINGS = 5

/** Keeps one events stream open while the engine is up, and reports when the engine comes and goes. */
export function watchEngine({ engine, log, onUp, onDown, onEvent }: EngineWatchDeps): EngineWatch {
  const stop = new AbortController()
  const settled = Promise.withResolvers<undefined>()
  let state: EngineState = { reachable: false, version: '', architecture: '', cpus: 0, memBytes: 0 }

  async function watchOnce(signal: AbortSignal): Promise<void> {
    await inTime(engine.negotiate())
    const info = EngineInfo.parse(await inTime(engine.calls.info()))
    const filters = JSON.stringify({ type: ['container', 'image'] })
    const stream = await engine.streams.getEvents({ filters, abortSignal: signal })
    const ended = follow(stream)
    // Awaited below in a race; until then, a rejection must not count as unhandled.
    ended.catch(() => undefined)
    try {
      state = {
        reachable: true,
        version: info.ServerVersion,
        architecture: info.Architecture,
        cpus: info.NCPU,
        memBytes: info.MemTotal,
      }
      await Promise.race([onUp(state), ended])
      settled.resolve(undefined)
      await Promise.race([keepPinging(signal), ended])
    } finally {
      endStream(stream)
    }
  }

  /** Never resolves: an event stream ends only when the connection to the engine breaks. */
  async function follow(stream: NodeJS.ReadableStream): Promise<never> {
    for await (const line of readLines(stream)) {
      const event = readEvent(line)
      if (event) onEvent(event)
    }
    throw new Error('the stream of events ended')
  }

  async function keepPinging(signal: AbortSignal): Promise<void> {
    let silent = 0
    while (!signal.aborted) {
      await delay(PING_EVERY_MS, undefined, { signal })
      try {
        await inTime(engine.calls.ping())
        silent = 0
      } catch (error) {
        if (!isSilence(error) || ++silent === SILENT_PINGS) throw error
        log.warn({ why: engineMessage(error), silent }, 'the Docker Engine is slow')
      }
    }
  }

  async function run(): Promise<void> {
    let complained = false
    while (!stop.signal.aborted) {
      const once = new AbortController()
      const signal = AbortSignal.any([stop.signal, once.signal])
      await watchOnce(signal)
        .then(() => undefined)
        .catch((error: unknown) => {
          if (stop.signal.aborted) return
          const wasUp = state.reachable
          if (wasUp || !complained) log.warn({ why: engineMessage(error) }, 'the Docker Engine does not answer')
          complained = true
          state = { ...state, reachable: false }
          if (wasUp) onDown()
          settled.resolve(undefined)
        })
      once.abort()
      await delay(RETRY_MS, undefined, { signal: stop.signal }).catch(() => undefined)
    }
  }

  const running = run()
  return {
    get state() {
      return state
    },
    settled: settled.promise,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}

/** Error for an answer that did not come in time. An engine that is gone refuses or resets the connection instead. */
class Silence extends Error {}

function isSilence(error: unknown): boolean {
  if (error instanceof Silence) return true
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ETIMEDOUT' || code === 'ESOCKETTIMEDOUT'
}

/** @throws Silence when no answer comes in time */
const inTime = <T>(answer: Promise<T>) =>
  within(PING_TIMEOUT_MS, answer, () => new Silence(`no answer within ${PING_TIMEOUT_MS} ms`))

const EngineInfo = z.object({
  ServerVersion: z.string(),
  Architecture: z.string().default(''),
  NCPU: z.number(),
  MemTotal: z.number(),
})
const RawEvent = z.object({
  Type: z.string(),
  Action: z.string(),
  Actor: z.object({ Attributes: z.record(z.string(), z.string()).nullish() }).optional(),
})

/** @returns undefined for an event that does not concern us */
export function readEvent(line: string): EngineEvent | undefined {
  const event = RawEvent.safeParse(parseJson(line))
  if (!event.success) return undefined
  const { Type, Action, Actor } = event.data
  if (Type === 'image') return { type: 'image', action: Action }
  const kernelId = Actor?.Attributes?.[LABEL_KERNEL_ID]
  return kernelId === undefined ? undefined : { type: 'kernel', action: Action, kernelId }
}
