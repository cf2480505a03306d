import { z } from 'zod'
import { AgentSummary, Resources } from '../agents/agents.ts'
import { Backups } from '../operation/backups.ts'
import { ConsoleCertificate } from '../operation/certificates.ts'
import { SessionId, UserId } from '../ids.ts'
import { Reason } from '../sessions/reasons.ts'
import { Scheduling } from '../agents/scheduling.ts'
import { SystemSettings } from '../operation/settings.ts'

/** A GPU counts as idle while its use in every minute is below this, in percent. */
export const IDLE_GPU_PERCENT = 5
/** Default time after which unused GPUs count as idle, in minutes. */
export const IDLE_GPU_MINUTES = 30

export const IdleGpuQuery = z.object({
  minutes: z.coerce
    .number()
    .int()
    .min(5)
    .max(10_080)
    .default(IDLE_GPU_MINUTES)
    .describe('For how long all GPUs of a session have done nothing, at least.'),
})

/** A running session whose GPUs have all been idle for a while, according to their figures. */
export const IdleSession = z.object({
  id: SessionId,
  name: z.string(),
  image: z.string(),
  clusterSize: z.int(),
  gpus: z.number().describe('GPUs and GPU shares that it holds.'),
  since: z.iso.datetime(),
  gpuHours: z.number().describe('GPUs, times the hours since then.'),
})
export type IdleSession = z.infer<typeof IdleSession>

/** Idle GPUs of one owner. */
export const IdleOwner = z
  .object({
    ownerId: UserId,
    ownerEmail: z.string(),
    gpus: z.number(),
    gpuHours: z.number(),
    sessions: z.array(IdleSession).describe('The most GPU-hours first.'),
  })
  .meta({ id: 'IdleOwner' })
export type IdleOwner = z.infer<typeof IdleOwner>

/** All idle GPUs, even of owners that the answer does not list. */
export const IdleTotals = z.object({
  total: z.int().describe('Number of owners.'),
  sessions: z.int(),
  gpus: z.number(),
  gpuHours: z.number(),
})
export type IdleTotals = z.infer<typeof IdleTotals>

/** Number of sessions with the same reason code. */
export const ReasonCount = z
  .object({
    count: z.int(),
    newest: z
      .object({ id: SessionId, name: z.string(), reason: Reason })
      .describe('The newest of them, as an example.'),
  })
  .meta({ id: 'ReasonCount' })
export type ReasonCount = z.infer<typeof ReasonCount>

const ByReason = z.object({
  total: z.int(),
  reasons: z.array(ReasonCount).describe('One for each code of a reason, the most frequent first.'),
})

/** Parts of an installation that an administrator sets up once: mail, the addresses of the console and of apps, backups and certificates. */
export const SetUp = z.object({
  settings: SystemSettings.pick({ mailReady: true, publicUrl: true }),
  backups: Backups.pick({ nextAt: true, last: true }),
  certificates: z.array(ConsoleCertificate.pick({ state: true })),
  appsAddress: z.boolean().describe('Whether web apps have an address for browsers on other computers.'),
})
export type SetUp = z.infer<typeof SetUp>

/** Waiting sessions, failures, agents that need attention and idle GPUs, counted over everything that the caller administers. */
export const Overview = z
  .object({
    waiting: ByReason,
    failed: ByReason.describe('Sessions that failed in the last seven days.'),
    idle: IdleTotals.extend({ owners: z.array(IdleOwner).describe('The first five, the most GPU-hours first.') }),
    now: Resources.pick({ capacity: true, occupied: true, agents: true, sessions: true }).describe(
      'Capacity of connected agents and what sessions hold on it, in the resource groups that the caller may use.',
    ),
    agents: z
      .object({
        needy: z.int().describe('Number of agents with problems.'),
        first: z.array(AgentSummary).describe('The first five of them, the most problems first.'),
        gpus: z.int().describe('GPUs of connected agents.'),
      })
      .nullable()
      .describe('For superadmins.'),
    ...Scheduling.shape,
    signUpRequests: z.int().describe('People who ask for an account.'),
    superadmins: z.int().nullable().describe('Active superadmins; for superadmins.'),
    setUp: SetUp.nullable().describe('For superadmins who ask for it.'),
  })
  .meta({ id: 'Overview' })
export type Overview = z.infer<typeof Overview>
