import { z } from 'zod'
import { CauseFields } from '../causes/fields.ts'
import { DOCTOR_CAUSES } from '../causes/doctor.ts'

/** A manager process on the database. */
export const Manager = z
  .object({
    id: z.uuid().describe('Id of the process: new with every start.'),
    url: z.string().describe('Where agents and other managers reach it.'),
    version: z.string(),
    startedAt: z.iso.datetime(),
    seenAt: z.iso.datetime().describe('Last heartbeat. A manager without one for 15 s leaves the list.'),
    clockAheadMs: z.int().describe('Its clock minus the clock of the database.'),
    schedules: z.array(z.string()).describe('Resource groups that it schedules now.'),
    agents: z.int().describe('Number of agents connected to it.'),
    agentsVia: z.int().describe('Number of these agents that connect through another manager.'),
    agentsMissing: z.int().describe('Number of agents that are connected only to other managers.'),
    self: z.boolean().describe('True for the manager that sent this answer.'),
  })
  .meta({ id: 'Manager' })
export type Manager = z.infer<typeof Manager>

/** Agents with the same version, and the same version of their Docker Engine. */
export const AgentVersion = z.object({
  version: z.string(),
  engineVersion: z.string().describe('Empty while it has not reported one.'),
  names: z.array(z.string()).describe('Names of the hosts, in the order of the alphabet.'),
})
export type AgentVersion = z.infer<typeof AgentVersion>

/** Versions of the software that the answering manager runs on, and of the agents. */
export const Versions = z
  .object({
    manager: z.string(),
    node: z.string(),
    postgresql: z.string(),
    platform: z.string().describe('Operating system and processor, such as `linux x64`.'),
    agents: z.array(AgentVersion).describe('Without forgotten agents; the versions of the most agents first.'),
  })
  .meta({ id: 'Versions' })
export type Versions = z.infer<typeof Versions>

/** Problems of managers that share a database, as `GET /readyz` and `berth doctor` report them. */
export const MANAGER_WARNINGS = {
  manager_versions_differ: DOCTOR_CAUSES.manager_versions_differ,
  manager_clocks_differ: DOCTOR_CAUSES.manager_clocks_differ,
  database_clock_set: DOCTOR_CAUSES.database_clock_set,
  manager_not_dialled: DOCTOR_CAUSES.manager_not_dialled,
} as const
export type ManagerWarningCode = keyof typeof MANAGER_WARNINGS
export const ManagerWarningCode = z.enum(Object.keys(MANAGER_WARNINGS) as [ManagerWarningCode, ...ManagerWarningCode[]])

export const ManagerWarning = z.object({
  code: ManagerWarningCode,
  message: z.string().describe('The managers concerned, and what to do.'),
  ...CauseFields,
})
export type ManagerWarning = z.infer<typeof ManagerWarning>
