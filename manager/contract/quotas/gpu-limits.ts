import { z } from 'zod'
import { GpuModel } from '../agents/gpu-choice.ts'
import { amountOf, formatAmount, parseAmount } from '../agents/resource-slots.ts'

/** Limits by model of one resource policy. */
export const MOST_GPU_LIMITS = 32

export const GpuLimit = z
  .strictObject({
    model: GpuModel.describe(
      'Words of the name that the driver reports, as in a choice of GPUs: "H100", "A100 80GB". MIG instances and shares count towards the model of their GPU.',
    ),
    gpus: amountOf('cuda.shares').describe(
      'GPUs of this model, in steps of 0.01: a share counts as its part, a MIG instance as its slices. 0: none.',
    ),
  })
  .meta({ id: 'GpuLimit', description: 'Most GPUs of one model that sessions hold together.' })
export type GpuLimit = z.infer<typeof GpuLimit>

/** Two models are the same limit if their words are. */
export const modelKey = (model: string): string =>
  model
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
    .join(' ')

export const GpuLimits = z
  .array(GpuLimit)
  .max(MOST_GPU_LIMITS)
  .refine(
    limits => new Set(limits.map(({ model }) => modelKey(model))).size === limits.length,
    'must name each model once',
  )

/** Most GPUs of one model, in hundredths. */
export interface StoredGpuLimit {
  readonly model: string
  readonly gpus: number
}

export const parseGpuLimits = (limits: readonly GpuLimit[]): StoredGpuLimit[] =>
  limits.map(({ model, gpus }) => ({ model, gpus: parseAmount('cuda.shares', gpus) ?? 0 }))

export const formatGpuLimits = (limits: readonly StoredGpuLimit[]): GpuLimit[] =>
  limits.map(({ model, gpus }) => ({ model, gpus: formatAmount('cuda.shares', gpus) }))

/** A limit on a model, with what is held of it and left. */
export const GpuLimitUse = z
  .object({
    model: z.string(),
    policy: z.string().describe('Resource policy, project or domain that has the limit.'),
    limit: z.string(),
    held: z.string().describe('GPUs of this model that are held now, rounded up to hundredths.'),
    left: z.string().describe('Rest of the limit in hundredths; never below 0.'),
  })
  .meta({ id: 'GpuLimitUse', description: 'A limit on the GPUs of one model, with what is held and left.' })
export type GpuLimitUse = z.infer<typeof GpuLimitUse>
