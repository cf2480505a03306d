import { z } from 'zod'
import { PlainText, TextOf, TextUpTo } from './plain-text.ts'
import { MOST_AMOUNT, parseAmount } from './resource-slots.ts'

/** Characters of a model's name, as of those that agents report. */
const MOST_MODEL = 200
const GIB = 2 ** 30

/** Profile of a MIG instance as the driver names it: `3g.20gb`, `1g.10gb+me`, `1c.3g.20gb`. */
const MIG_PROFILE = /^(\d+c\.)?\d+g\.\d+gb(\+[a-z0-9.]+)?$/i

/** Threat: administrators read it in terminals, so it has no control characters. */
export const GpuModel = PlainText(MOST_MODEL).regex(/[a-z0-9]/i, 'must be a model of a GPU, such as "H100"')

/** The GPUs that a request accepts; a key that is left out accepts any. */
export const GpuChoice = z
  .strictObject({
    model: GpuModel.optional().describe(
      'Words of the name that the driver reports, such as "H100", "A100 80GB" or "RTX 4090"; case does not matter. A name from "NVIDIA" on is the whole name. Without migProfile, no MIG instance is a model.',
    ),
    memory: TextUpTo(MOST_AMOUNT)
      .refine(text => (parseAmount('mem', text) ?? 0) > 0, 'must be an amount of memory, such as "40g"')
      .optional()
      .describe(
        'Least memory of each GPU or MIG instance, of which whole GiB count, rounded up. Of a share: of the whole GPU.',
      ),
    migProfile: TextOf(32, MIG_PROFILE, 'must be the profile of MIG instances, such as "3g.20gb"')
      .optional()
      .describe('Only MIG instances of this profile.'),
  })
  .refine(choice => Object.values(choice).some(value => value !== undefined), 'name a model, a memory or a MIG profile')
  .meta({ id: 'GpuChoice', description: 'The GPUs that a request accepts.' })
export type GpuChoice = z.infer<typeof GpuChoice>

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

/**
 * Whether these words name the model: each is a word of its name, or two neighbouring words written together (`RTX4090`). So `A100` is not
 * an `A1000`. A name that begins with the maker is the name as the driver reports it: `NVIDIA GeForce RTX 3080` is not a `3080 Ti`.
 */
export function namesModel(wanted: string, model: string): boolean {
  const [asked, words] = [wordsOf(wanted), wordsOf(model)]
  if (asked[0] === 'nvidia') return asked.join(' ') === words.join(' ')
  const known = new Set(words.flatMap((word, at) => [word, word + (words[at + 1] ?? '')]))
  return asked.length > 0 && asked.every(word => known.has(word))
}

/** Whole GiB, rounded up: the driver keeps some memory for itself, so a GPU that is sold with 80 GB reports 79.6 GiB. */
export const countedMemory = (memBytes: number): number => Math.ceil(memBytes / GIB) * GIB

/** The choice in a few characters, equal in every language: `H100, ≥ 40 GiB`, `MIG 3g.20gb`. */
export function choiceText({ model, memory, migProfile }: GpuChoice): string {
  const least = memory === undefined ? undefined : (parseAmount('mem', memory) ?? 0) / GIB
  const parts = [
    model,
    migProfile && `MIG ${migProfile}`,
    least === undefined ? '' : `≥ ${Math.round(least * 100) / 100} GiB`,
  ]
  return parts.filter(Boolean).join(', ')
}

/** Profile of a MIG instance, the last word of its model. */
export const profileOf = (model: string): string => model.slice(model.lastIndexOf(' ') + 1)

const wordsOf = (name: string) =>
  name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
