import { z } from 'zod'
import { PlainText, TextOf, TextUpTo } from '../plain-text.ts'
import { MOST_AMOUNT, parseAmount } from './resource-slots.ts'

/** Characters of a model's name, as of those that agents report. */
export const MOST_GPU_MODEL = 200
export const MOST_MIG_PROFILE = 32

/** Profile of a MIG instance as the driver names it: `3g.20gb`, `1g.10gb+me`, `1c.3g.20gb`. */
export const MIG_PROFILE = /^(\d+c\.)?\d+g\.\d+gb(\+[a-z0-9.]+)?$/i

export const GPU_MODEL = /[a-z0-9]/i

/** Threat: administrators read it in terminals, so it has no control characters. */
export const GpuModel = PlainText(MOST_GPU_MODEL).regex(GPU_MODEL, 'must be a model of a GPU, such as "H100"')

/** The GPUs that a request accepts; a key that is left out accepts any. */
export const GpuChoice = z
  .strictObject({
    model: GpuModel.optional().describe(
      'Words of the name that the driver reports, such as "H100", "A100 80GB" or "RTX 4090"; case does not matter. A name from "NVIDIA" or "AMD" on is the whole name. Without migProfile, no MIG instance is a model.',
    ),
    memory: TextUpTo(MOST_AMOUNT)
      .refine(text => (parseAmount('mem', text) ?? 0) > 0, 'must be an amount of memory, such as "40g"')
      .optional()
      .describe(
        'Least memory of each GPU or MIG instance, of which whole GiB count, rounded up. Of a share: of the whole GPU.',
      ),
    migProfile: TextOf(MOST_MIG_PROFILE, MIG_PROFILE, 'must be the profile of MIG instances, such as "3g.20gb"')
      .optional()
      .describe('Only MIG instances of this profile.'),
  })
  .refine(choice => Object.values(choice).some(value => value !== undefined), 'name a model, a memory or a MIG profile')
  .meta({ id: 'GpuChoice', description: 'The GPUs that a request accepts.' })
export type GpuChoice = z.infer<typeof GpuChoice>
