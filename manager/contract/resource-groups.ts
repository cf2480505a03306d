import { z } from 'zod'

export const SEQUENCERS = ['fifo', 'lifo', 'drf'] as const
export const SELECTORS = ['concentrated', 'dispersed', 'round-robin'] as const

export const ResourceGroupName = z
  .string()
  .regex(/^(?=.{1,64}$)[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/, 'must be letters, digits or inner "-", "_", "."')

export const ResourceGroupOptions = z
  .strictObject({
    reserveAfterSeconds: z
      .int()
      .min(0)
      .max(30 * 86_400)
      .optional()
      .describe('A session that is blocked on capacity for so long has capacity held for it; 600 if left out.'),
    weights: z
      .record(z.uuid(), z.number().positive().max(1000))
      .optional()
      .describe('DRF: how much more than others a user may hold, by user id; 1 if left out.'),
    splitShares: z
      .boolean()
      .optional()
      .describe('A part of a GPU that no single device has free may be spread evenly over several.'),
  })
  .meta({ id: 'ResourceGroupOptions' })
export type ResourceGroupOptions = z.infer<typeof ResourceGroupOptions>

const settings = {
  description: z.string().max(500),
  sequencer: z.enum(SEQUENCERS).describe('Who is next: the oldest, the newest, or the user with the least share.'),
  selector: z.enum(SELECTORS).describe('Which agent: fill one up, spread out, or each in turn.'),
  options: ResourceGroupOptions,
  active: z.boolean().describe('False: no new sessions, and none that waits is started.'),
}

/** Agents that share one queue. */
export const ResourceGroup = z
  .object({ name: ResourceGroupName, ...settings, createdAt: z.iso.datetime(), version: z.int() })
  .meta({ id: 'ResourceGroup' })
export type ResourceGroup = z.infer<typeof ResourceGroup>

export const ResourceGroupSpec = z
  .strictObject({
    name: ResourceGroupName,
    description: settings.description.default(''),
    sequencer: settings.sequencer.default('fifo'),
    selector: settings.selector.default('concentrated'),
    options: settings.options.default({}),
    active: settings.active.default(true),
  })
  .meta({ id: 'ResourceGroupSpec' })
export type ResourceGroupSpec = z.infer<typeof ResourceGroupSpec>

export const ResourceGroupChange = z.strictObject(settings).partial().meta({ id: 'ResourceGroupChange' })
export type ResourceGroupChange = z.infer<typeof ResourceGroupChange>
