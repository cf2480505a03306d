import { z } from 'zod'
import { TextOf, TextUpTo } from '../plain-text.ts'
import { GpuChoice } from '../agents/gpu-choice.ts'
import { MOST_AMOUNT, parseAmount, WireSlots } from '../agents/resource-slots.ts'

export const PresetName = TextOf(
  64,
  /^(?=.{1,64}$)[A-Za-z0-9]([A-Za-z0-9._ -]*[A-Za-z0-9])?$/,
  'must be letters, digits or inner "-", "_", ".", " "',
)

const Shmem = TextUpTo(MOST_AMOUNT).refine(
  text => parseAmount('mem', text) !== undefined,
  'must be an amount of memory, such as "256m"',
)

const settings = {
  slots: WireSlots,
  gpu: GpuChoice.nullable().describe('The GPUs that the preset chooses; null: any.'),
  shmem: Shmem.nullable().describe('Shared memory, part of mem; null = default of the image.'),
}

/** A named session size, offered in the launch dialog. */
export const Preset = z
  .object({
    name: PresetName,
    ...settings,
    fits: z
      .boolean()
      .optional()
      .describe('Whether the caller could start the preset now: within the limits, and with free room on one agent.'),
    createdAt: z.iso.datetime(),
    version: z.int(),
  })
  .meta({ id: 'Preset' })
export type Preset = z.infer<typeof Preset>

export const PresetSpec = z
  .strictObject({
    name: PresetName,
    slots: settings.slots,
    gpu: settings.gpu.default(null),
    shmem: settings.shmem.default(null),
  })
  .meta({ id: 'PresetSpec' })
export type PresetSpec = z.infer<typeof PresetSpec>

/** Change of a preset. A key that is left out keeps its value; `slots` are replaced as a whole. */
export const PresetChange = z.strictObject(settings).partial().meta({ id: 'PresetChange' })
export type PresetChange = z.infer<typeof PresetChange>
