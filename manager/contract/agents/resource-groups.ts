import { z } from 'zod'
import { GroupId, SessionId, UserId } from '../ids.ts'
import { PlainText, TextOf, TextUpTo } from '../plain-text.ts'
import { SLOT_NAMES, WireSlots } from './resource-slots.ts'
import { SlurmSettings } from './slurm.ts'

export const SEQUENCERS = ['fifo', 'lifo', 'drf'] as const
export const SELECTORS = ['concentrated', 'dispersed', 'round-robin'] as const

/** Programs that allocate resources for the sessions of a group: Berth's own scheduler, or a Slurm cluster whose nodes run agents. */
export const ENGINES = ['berth', 'slurm'] as const
export type Engine = (typeof ENGINES)[number]

export const ResourceGroupName = TextOf(
  64,
  /^(?=.{1,64}$)[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/,
  'must be 1 to 64 letters, digits or inner "-", "_", "."',
)

/** Resource group that exists from the start and is open to every domain, so that a single machine needs no setup. */
export const DEFAULT_RESOURCE_GROUP = 'default'

/** The largest weight of a user or project in a fair share. */
export const LARGEST_WEIGHT = 1000

export const ResourceGroupOptions = z
  .strictObject({
    reserveAfterSeconds: z
      .int()
      .min(0)
      .max(30 * 86_400)
      .optional()
      .describe('Seconds after which capacity is held for a session that waits for capacity; default 600.'),
    weights: z
      .record(z.uuid(), z.number().positive().max(LARGEST_WEIGHT))
      .optional()
      .describe('DRF: factor of resources that a user may hold compared with others, by user id; default 1.'),
    projectWeights: z
      .record(z.uuid(), z.number().positive().max(LARGEST_WEIGHT))
      .optional()
      .describe(
        'DRF: factor of resources that a project may hold compared with others, by project id; default 1. With it, projects share first, then the users of each.',
      ),
    requireIsolation: z
      .boolean()
      .optional()
      .describe(
        'Place no sessions on agents that cannot isolate sessions from each other and from the host (isolation: partial).',
      ),
    interruption: z
      .strictObject({
        minRunSeconds: z
          .int()
          .min(0)
          .max(30 * 86_400)
          .default(1800)
          .describe('No session is interrupted that has run for less.'),
        warnSeconds: z.int().min(5).max(3600).default(120).describe('Time between the warning and the stop.'),
      })
      .optional()
      .describe(
        'A waiting session may stop sessions of lower priority that may be interrupted. Left out: no session is interrupted.',
      ),
    splitShares: z
      .boolean()
      .optional()
      .describe('A GPU share that no single device has free may be spread evenly over several devices.'),
    spreadClusters: z
      .boolean()
      .optional()
      .describe('Sessions over several hosts use as many hosts as possible; left out: as few as possible.'),
    slurm: SlurmSettings.optional().describe(
      'For a group with the engine `slurm`, to which of the other options only `requireIsolation` applies.',
    ),
  })
  .meta({ id: 'ResourceGroupOptions' })
export type ResourceGroupOptions = z.infer<typeof ResourceGroupOptions>

const settings = {
  description: TextUpTo(500),
  engine: z
    .enum(ENGINES)
    .describe(
      'What allocates resources for sessions: Berth, or Slurm on whose nodes the agents of the group run. Cannot change while the group has live sessions.',
    ),
  sequencer: z
    .enum(SEQUENCERS)
    .describe('Which session is next: the oldest, the newest, or one of the user with the smallest share.'),
  selector: z
    .enum(SELECTORS)
    .describe('Which agent gets a session: fill one agent up, spread out, or take each in turn.'),
  options: ResourceGroupOptions,
  active: z.boolean().describe('False: no new sessions, and waiting ones are not started.'),
  notice: PlainText(300).describe('Text for users while the group is not active: why, and for how long.'),
}

/** A resource group: agents that share one queue. */
export const ResourceGroup = z
  .object({
    name: ResourceGroupName,
    ...settings,
    createdAt: z.iso.datetime(),
    version: z.int(),
    agents: z.int().optional().describe('Number of its agents without forgotten ones: in the list of a superadmin.'),
  })
  .meta({ id: 'ResourceGroup' })
export type ResourceGroup = z.infer<typeof ResourceGroup>

/** Explains whose session is next in a group with the sequencer `drf`, as of now. Shares have no memory: ended sessions do not count. */
export const FairShare = z
  .object({
    capacity: WireSlots.describe('Of all agents of the group that can take sessions now: shares are fractions of it.'),
    items: z
      .array(
        z.object({
          userId: UserId,
          email: z.string(),
          held: WireSlots.describe('What all sessions of the user in this group hold now.'),
          dominant: z.enum(SLOT_NAMES).nullable().describe('The slot of which the user holds the largest fraction.'),
          fraction: z.number().describe('That fraction, 0 to 1; more if agents have left.'),
          weight: z.number(),
          share: z.number().describe('`fraction` divided by `weight`. The user with the smallest is next.'),
          project: z
            .object({
              id: GroupId.nullable().describe('Null for sessions without a project.'),
              name: z.string(),
              fraction: z.number(),
              weight: z.number(),
              share: z.number().describe('`fraction` divided by `weight`. The project with the smallest is next.'),
            })
            .nullable()
            .describe('Where projects have weights: the project of this row, whose share counts first.'),
          waiting: z.int().describe('Number of their waiting sessions, without those that start later.'),
          turn: z.int().nullable().describe('1 = their first session is tried first; null if nothing of them waits.'),
          next: z.object({ id: SessionId, name: z.string(), priority: z.int() }).nullable(),
          because: z
            .enum(['priority', 'project', 'share', 'age'])
            .nullable()
            .describe(
              'Why they are before the one with the next turn: priority of the session, share of the project, own share, or age of the session.',
            ),
        }),
      )
      .describe(
        'By turn, then those who wait for nothing, by share; where projects have weights, once for each project. An admin of a domain sees users of the domain.',
      ),
    reserved: SessionId.nullable().describe('The session for which capacity is held: it is tried before all others.'),
  })
  .meta({ id: 'FairShare' })
export type FairShare = z.infer<typeof FairShare>

export const ResourceGroupSpec = z
  .strictObject({
    name: ResourceGroupName,
    description: settings.description.default(''),
    engine: settings.engine.default('berth'),
    sequencer: settings.sequencer.default('fifo'),
    selector: settings.selector.default('concentrated'),
    options: settings.options.default({}),
    active: settings.active.default(true),
    notice: settings.notice.default(''),
    domains: z
      .array(TextUpTo(64))
      .max(100)
      .optional()
      .describe('Domains that may use the group from the start; default: the domain of its creator.'),
  })
  .meta({ id: 'ResourceGroupSpec' })
export type ResourceGroupSpec = z.infer<typeof ResourceGroupSpec>

export const ResourceGroupChange = z.strictObject(settings).partial().meta({ id: 'ResourceGroupChange' })
export type ResourceGroupChange = z.infer<typeof ResourceGroupChange>

/** A domain, group or user that may use a resource group. */
export const ResourceGroupAccess = z
  .object({
    kind: z.enum(['domain', 'group', 'user']),
    id: z.string().describe('Name of the domain, or id.'),
    name: z.string().describe('Text for people: the domain, domain/group, or an e-mail address.'),
  })
  .meta({ id: 'ResourceGroupAccess' })
export type ResourceGroupAccess = z.infer<typeof ResourceGroupAccess>

/** All grants of access to resource groups, with all domains and projects, so that a table can be drawn from one answer. */
export const AccessMatrix = z
  .object({
    resourceGroups: z.array(z.object({ name: ResourceGroupName, active: z.boolean() })).describe('By name.'),
    domains: z
      .array(
        z.object({
          name: z.string(),
          active: z.boolean(),
          projects: z
            .array(z.object({ id: GroupId, name: z.string(), active: z.boolean() }))
            .describe('By name. Each may use what its domain may use, too.'),
        }),
      )
      .describe('By name.'),
    grants: z
      .array(ResourceGroupAccess.extend({ resourceGroup: ResourceGroupName }))
      .describe('By resource group, then domains, projects and users, each by name.'),
  })
  .meta({ id: 'AccessMatrix' })
export type AccessMatrix = z.infer<typeof AccessMatrix>

const holder = { domain: TextUpTo(64).optional(), groupId: GroupId.optional(), userId: UserId.optional() }

/** Names exactly one domain, group or user. */
export const ResourceGroupAccessChange = z
  .strictObject(holder)
  .refine(
    change => Object.values(change).filter(value => value !== undefined).length === 1,
    'name a domain, a group or a user',
  )
export type ResourceGroupAccessChange = z.infer<typeof ResourceGroupAccessChange>
