import { GPU_MODEL, type GpuChoice, MIG_PROFILE, MOST_GPU_MODEL, MOST_MIG_PROFILE } from './gpu-choice.ts'
import { MOST_AMOUNT, parseAmount } from './resource-slots.ts'

// Apart from the schema, which the first load of the page reaches: only dialogs use this.

const GIB = 2 ** 30

/** Whether a value is a choice, as the schema says. For the page, which carries no schemas. */
export function isGpuChoice(value: unknown): value is GpuChoice {
  if (typeof value !== 'object' || value === null) return false
  const { model, memory, migProfile, ...rest } = value as Readonly<Record<string, unknown>>
  const fits = (part: unknown, most: number, isGood: (text: string) => boolean) =>
    part === undefined || (typeof part === 'string' && part.length <= most && isGood(part))
  return (
    Object.keys(rest).length === 0 &&
    [model, memory, migProfile].some(part => part !== undefined) &&
    fits(model, MOST_GPU_MODEL, text => GPU_MODEL.test(text) && !/\p{Cc}/u.test(text)) &&
    fits(memory, MOST_AMOUNT, text => (parseAmount('mem', text) ?? 0) > 0) &&
    fits(migProfile, MOST_MIG_PROFILE, text => MIG_PROFILE.test(text))
  )
}

/** The properties of a GPU by which it is chosen. */
export interface GpuKind {
  /** Name that the driver reports; the model of a MIG instance ends with its profile. */
  readonly model: string
  /** 0 if the driver does not tell. */
  readonly memBytes: number
  readonly isMig: boolean
}

/** Whether a request with this choice accepts the GPU. */
export function isChosen({ model, memory, migProfile }: GpuChoice, gpu: GpuKind): boolean {
  const profile = gpu.isMig ? profileOf(gpu.model) : ''
  if (migProfile !== undefined && profile.toLowerCase() !== migProfile.toLowerCase()) return false
  if (memory !== undefined && countedMemory(gpu.memBytes) < (parseAmount('mem', memory) ?? 0)) return false
  if (model === undefined) return true
  if (!gpu.isMig) return namesModel(model, gpu.model)
  return migProfile !== undefined && namesModel(model, gpu.model.slice(0, gpu.model.length - profile.length))
}

/** First words of the names that drivers report. */
const MAKERS = new Set(['nvidia', 'amd'])

/**
 * Whether these words name the model: each is a word of its name, or two neighbouring words written together (`RTX4090`). So `A100` is not
 * an `A1000`. A name that begins with the maker is the name as the driver reports it: `NVIDIA GeForce RTX 3080` is not a `3080 Ti`.
 */
export function namesModel(wanted: string, model: string): boolean {
  const [asked, words] = [wordsOf(wanted), wordsOf(model)]
  if (MAKERS.has(asked[0] ?? '')) return asked.join(' ') === words.join(' ')
  const known = new Set(words.flatMap((word, at) => [word, word + (words[at + 1] ?? '')]))
  return asked.length > 0 && asked.every(word => known.has(word))
}

/** Whole GiB, rounded up: the driver keeps some memory for itself, so a GPU that is sold with 80 GB reports 79.6 GiB. */
export const countedMemory = (memBytes: number): number => Math.ceil(memBytes / GIB) * GIB

/** Profile of a MIG instance, the last word of its model. */
export const profileOf = (model: string): string => model.slice(model.lastIndexOf(' ') + 1)

const wordsOf = (name: string) =>
  name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
