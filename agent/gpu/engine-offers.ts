import { AppError, type Because, because } from '#manager/contract'
import { engineMessage } from '../docker/engine-client.ts'
import { type GpuRequest, joinGpuRequests } from '../docker/gpu-request.ts'
import { type Log } from '../log.ts'
import { type FoundGpu, type GpuPlugin } from './gpu-plugin.ts'

/** A GPU and the plugin that found it. */
export interface Entry {
  gpu: FoundGpu
  readonly plugin: GpuPlugin
}

/** The GPUs that the engine can hand to containers. */
export interface EngineOffers {
  /** GPUs that the engine could not offer at its last answer. */
  readonly withheld: ReadonlyMap<string, Because>
  /** GPUs with which the engine could not start a container of the agent's own (`testStarts`). */
  readonly refused: Map<string, Because>
  /** Asks the engine which GPUs it offers. Without an answer the last one holds. */
  ask(entries: readonly Entry[]): Promise<void>
  /** The request for GPUs of any makers. @throws `kernel_create_failed` */
  requestOf(uuids: readonly string[]): Promise<GpuRequest>
  /** Starts a container of the agent with each of these GPUs. If that is impossible now, the earlier result is kept. */
  testStarts(uuids: Iterable<string>): Promise<void>
}

export interface EngineOffersDeps {
  readonly plugins: readonly GpuPlugin[]
  /** Starts a container of the agent's own with GPUs. @returns the refusal of the engine in its words; null if it started */
  readonly testStart: (gpus: GpuRequest) => Promise<string | null>
  readonly log: Log
}

export function createEngineOffers({ plugins, testStart, log }: EngineOffersDeps): EngineOffers {
  let withheld: ReadonlyMap<string, Because> = new Map()
  const refused = new Map<string, Because>()

  async function requestOf(uuids: readonly string[]): Promise<GpuRequest> {
    const requests = await Promise.all(
      plugins.map(async ({ owns, requests }) => await requests?.of(uuids.filter(owns))),
    )
    const unknown = uuids.filter(uuid => !plugins.some(({ owns }) => owns(uuid)))
    if (unknown.length > 0)
      throw new AppError('kernel_create_failed', { ...because('gpu_of_no_plugin'), gpus: unknown.join(',') })
    return joinGpuRequests(requests.flatMap(request => request ?? []))
  }

  return {
    get withheld() {
      return withheld
    },
    refused,
    async ask(entries) {
      const found = await Promise.all(
        plugins.map(async plugin => {
          const uuids = entries.filter(entry => entry.plugin === plugin).map(({ gpu }) => gpu.uuid)
          const problems = plugin.requests?.problems(uuids) ?? new Map<string, Because>()
          return await Promise.resolve(problems).catch((error: unknown) => {
            log.warn({ why: engineMessage(error) }, 'the engine did not say which GPUs it can hand out')
            return new Map([...withheld].filter(([uuid]) => uuids.includes(uuid)))
          })
        }),
      )
      withheld = new Map(found.flatMap(problems => [...problems]))
    },
    requestOf,
    async testStarts(uuids) {
      for (const uuid of uuids) {
        const text = await requestOf([uuid]).then(testStart).catch(noAnswer)
        if (text === null) refused.delete(uuid)
        else if (text !== undefined) refused.set(uuid, because('gpu_starts_nothing', { text }))
      }
    },
  }
}

const noAnswer = () => undefined
