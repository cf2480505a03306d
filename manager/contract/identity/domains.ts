import { z } from 'zod'
import { GpuLimits } from '../quotas/gpu-limits.ts'
import { GroupId } from '../ids.ts'
import { BoundNames, DefaultNames } from '../apps/network-access.ts'
import { PlainLines, TextOf, TextUpTo } from '../plain-text.ts'
import { WireSlots } from '../agents/resource-slots.ts'
import { perProjectLimit, PROJECT_LIMITS, projectLimitSettings } from './project-limits.ts'
import { isLikeId } from '#base/shapes'
import { sortBy } from '../sort.ts'

/** Name of a domain or group. Letter case is kept, but two names must differ in more than case. */
const Name = TextOf(
  64,
  /^(?=.{1,64}$)[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/,
  'must be 1 to 64 letters, digits or inner "-", "_", "."',
)
export const DomainName = Name
/** Requests name a group by id or by name, so no name looks like an id. */
export const GroupName = Name.refine(name => !isLikeId(name), 'must not look like an id')

/** Every new domain has a group of this name; users join it unless other groups are named. */
export const DEFAULT_GROUP = 'default'
/** The domain of the first administrator, and of users for whom none is named. */
export const DEFAULT_DOMAIN = 'default'

const shared = {
  description: PlainLines(500),
  limits: WireSlots.describe('Limit for all sessions together; a missing slot is unlimited.'),
  gpuLimits: GpuLimits.describe('Limits on the GPUs of single models, each for all sessions together.'),
}

/** Settings of a project. A limit that is one number is added to `PROJECT_LIMITS`. */
const groupSettings = {
  ...shared,
  ...projectLimitSettings,
  active: z.boolean().describe('False: no new sessions in the project.'),
}

/** A domain, the top layer: a company or a school. A user belongs to exactly one. */
export const Domain = z
  .object({
    name: DomainName,
    ...shared,
    active: z.boolean().describe('False: users of the domain cannot sign in or launch sessions.'),
    allowedRegistries: z.array(z.string()).nullable().describe('Registries whose images may be launched; null = all.'),
    allowedNames: BoundNames,
    defaultNames: DefaultNames,
    createdAt: z.iso.datetime(),
    version: z.int(),
  })
  .meta({ id: 'Domain' })
export type Domain = z.infer<typeof Domain>

const AllowedRegistries = z.array(TextUpTo(255).min(1)).max(100).nullable()

/** Request for a new domain. The domain gets a group named `default`. */
export const DomainSpec = z
  .strictObject({
    name: DomainName,
    description: shared.description.default(''),
    limits: shared.limits.default({}),
    gpuLimits: shared.gpuLimits.default([]),
    allowedRegistries: AllowedRegistries.default(null),
    allowedNames: BoundNames.default(null),
    defaultNames: DefaultNames.default(null),
    active: z.boolean().default(true),
  })
  .meta({ id: 'DomainSpec' })
export type DomainSpec = z.infer<typeof DomainSpec>

/**
 * Change of a domain. A key that is left out keeps its value; `limits` and `gpuLimits` are replaced as a whole. Deactivating
 * ends every sign-in of the domain's users.
 */
export const DomainChange = z
  .strictObject({
    ...shared,
    allowedRegistries: AllowedRegistries,
    allowedNames: BoundNames,
    defaultNames: DefaultNames,
    active: z.boolean(),
  })
  .partial()
  .meta({ id: 'DomainChange' })
export type DomainChange = z.infer<typeof DomainChange>

/** A group as others refer to it. */
export const GroupRef = z.object({ id: GroupId, name: z.string() }).meta({ id: 'GroupRef' })
export type GroupRef = z.infer<typeof GroupRef>

/** A project: users of one domain who share limits. */
export const Group = z
  .object({
    id: GroupId,
    domain: DomainName,
    name: z.string(),
    ...groupSettings,
    members: z.int().describe('Number of members.'),
    createdAt: z.iso.datetime(),
    version: z.int(),
  })
  .meta({ id: 'Group' })
export type Group = z.infer<typeof Group>

/** Orders of a list of groups; with `-`, descending. */
export const GROUP_ORDERS = ['domain', 'name', 'members', 'state'] as const
export type GroupOrder = (typeof GROUP_ORDERS)[number]
export const GroupSort = sortBy(GROUP_ORDERS)
export type GroupSort = z.infer<typeof GroupSort>

export const GroupSpec = z
  .strictObject({
    domain: DomainName.optional().describe('Default: your own domain.'),
    name: GroupName,
    ...({
      description: groupSettings.description.default(''),
      limits: groupSettings.limits.default({}),
      gpuLimits: groupSettings.gpuLimits.default([]),
      ...perProjectLimit(name => projectLimitSettings[name].default(null)),
      active: groupSettings.active.default(true),
    } satisfies Record<keyof typeof groupSettings, z.ZodType>),
  })
  .meta({ id: 'GroupSpec' })
export type GroupSpec = z.infer<typeof GroupSpec>

/** Change of a group. A key that is left out keeps its value; `limits` and `gpuLimits` are replaced as a whole. */
export const GroupChange = z
  .strictObject({ name: GroupName, ...groupSettings })
  .partial()
  .meta({ id: 'GroupChange' })
export type GroupChange = z.infer<typeof GroupChange>

/** Objects that a setting of a project limits: a change concerns those that exist already. Null: none. */
export const LIMITED_BY: Readonly<Record<keyof GroupChange, 'folders' | 'sessions' | null>> = {
  name: null,
  description: null,
  limits: 'sessions',
  gpuLimits: 'sessions',
  ...perProjectLimit(name => PROJECT_LIMITS[name].limits),
  active: 'sessions',
}

/** Option of a deletion: members and records of ended sessions are deleted too only if the request asks for it. */
export const Purge = z.object({
  purge: z
    .stringbool()
    .optional()
    .describe('Also delete members, open invitations and records of ended sessions. The object must be inactive.'),
})

/** Result of a deletion. */
export const Removed = z
  .object({
    name: z.string().describe('For a project with its domain: `research/vision`.'),
    members: z.int().describe('Number of members that the project had.'),
    sessions: z.int().describe('Number of records of ended sessions that were deleted too.'),
  })
  .meta({ id: 'Removed' })
export type Removed = z.infer<typeof Removed>
