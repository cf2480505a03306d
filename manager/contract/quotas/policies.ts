import { z } from 'zod'
import { TextUpTo } from '../plain-text.ts'
import { UserId } from '../ids.ts'
import { BoundNames, DefaultNames } from '../apps/network-access.ts'
import { AccessKey } from '../identity/keypairs.ts'
import { ResourcePolicyName } from './policy-name.ts'
import { GpuLimits } from './gpu-limits.ts'
import { WireSlots } from '../agents/resource-slots.ts'

/** Default policy of users and keypairs. It cannot be deleted. */
export const DEFAULT_POLICY = 'default'

const seconds = z
  .int()
  .min(1)
  .max(3650 * 86_400)

/** In every key, null means unlimited. */
const settings = {
  limits: WireSlots.describe('Limit for all sessions together; a missing slot is unlimited.'),
  gpuLimits: GpuLimits.describe('Limits on the GPUs of single models, each for all sessions together.'),
  maxConcurrentSessions: z
    .int()
    .min(0)
    .max(1_000_000)
    .nullable()
    .describe('Number of sessions that may hold resources at the same time; further sessions wait.'),
  maxContainersPerSession: z.int().min(1).max(1000).nullable(),
  idleTimeoutSeconds: seconds.nullable().describe('A session that is idle for this long is ended.'),
  maxLifetimeSeconds: seconds.nullable().describe('A session ends this long after its start.'),
  allowedStorageHosts: z.array(TextUpTo(64).min(1)).max(100).nullable().describe('Null = all.'),
  allowedNames: BoundNames,
  defaultNames: DefaultNames,
  maxFolders: z.int().min(0).max(1_000_000).nullable(),
  maxFolderBytes: z
    .int()
    .min(1)
    .nullable()
    .describe('Size on disk of all folders that a user owns, those in the trash included.'),
  maxFolderFiles: z
    .int()
    .min(1)
    .nullable()
    .describe(
      'Number of files in all folders that a user owns, those in the trash included; directories and links count.',
    ),
}

/**
 * Named limits. A user's policy applies to all of the user's sessions together; a keypair's policy applies to the sessions
 * that were made with the keypair.
 */
export const ResourcePolicy = z
  .object({
    name: ResourcePolicyName,
    ...settings,
    users: z.int().describe('Number of users with this policy.'),
    keypairs: z.int().describe('Number of keypairs with this policy.'),
    createdAt: z.iso.datetime(),
    version: z.int(),
  })
  .meta({ id: 'ResourcePolicy' })
export type ResourcePolicy = z.infer<typeof ResourcePolicy>

export const ResourcePolicySpec = z
  .strictObject({
    name: ResourcePolicyName,
    ...({
      limits: settings.limits.default({}),
      gpuLimits: settings.gpuLimits.default([]),
      maxConcurrentSessions: settings.maxConcurrentSessions.default(null),
      maxContainersPerSession: settings.maxContainersPerSession.default(null),
      idleTimeoutSeconds: settings.idleTimeoutSeconds.default(null),
      maxLifetimeSeconds: settings.maxLifetimeSeconds.default(null),
      allowedStorageHosts: settings.allowedStorageHosts.default(null),
      allowedNames: settings.allowedNames.default(null),
      defaultNames: settings.defaultNames.default(null),
      maxFolders: settings.maxFolders.default(null),
      maxFolderBytes: settings.maxFolderBytes.default(null),
      maxFolderFiles: settings.maxFolderFiles.default(null),
    } satisfies Record<keyof typeof settings, z.ZodType>),
  })
  .meta({ id: 'ResourcePolicySpec' })
export type ResourcePolicySpec = z.infer<typeof ResourcePolicySpec>

/** Change of a policy. A key that is left out keeps its value; `limits` and `gpuLimits` are replaced as a whole. */
export const ResourcePolicyChange = z.strictObject(settings).partial().meta({ id: 'ResourcePolicyChange' })
export type ResourcePolicyChange = z.infer<typeof ResourcePolicyChange>

/** Holder of a policy: exactly one of the two. */
export const PolicyHolder = z
  .strictObject({ userId: UserId.optional(), accessKey: AccessKey.optional() })
  .refine(({ userId, accessKey }) => (userId === undefined) !== (accessKey === undefined), 'name a user or a keypair')
export type PolicyHolder = z.infer<typeof PolicyHolder>
