import { z } from 'zod'

/** A manager process on the database. */
export const Manager = z
  .object({
    id: z.uuid().describe('Of the process: new with every start.'),
    url: z.string().describe('Where agents and other managers reach it.'),
    version: z.string(),
    startedAt: z.iso.datetime(),
    seenAt: z.iso.datetime().describe('Its last sign of life. One that gives none for 15 s leaves the list.'),
    clockAheadMs: z.int().describe('Its clock minus that of the database.'),
    schedules: z.array(z.string()).describe('Resource groups whose queue it serves now.'),
    agents: z.int().describe('Agents that have a connection to it.'),
    agentsVia: z.int().describe('Of these, the ones that cannot dial it and come through another manager.'),
    agentsMissing: z.int().describe('Agents that are connected to another manager only.'),
    self: z.boolean().describe('Whether this answer comes from it.'),
  })
  .meta({ id: 'Manager' })
export type Manager = z.infer<typeof Manager>

/** Problems of managers that share a database, as `GET /readyz` and `berth doctor` report them. */
export const MANAGER_WARNINGS = {
  manager_versions_differ: 'Managers of different versions are on this database.',
  manager_clocks_differ: 'The clock of a manager differs from that of the database by more than 5 s.',
  database_clock_set: 'The clock of the database was set by more than a minute within the last hour.',
  manager_not_dialled: 'Agents cannot dial the address of a manager.',
} as const
export type ManagerWarningCode = keyof typeof MANAGER_WARNINGS
export const ManagerWarningCode = z.enum(Object.keys(MANAGER_WARNINGS) as [ManagerWarningCode, ...ManagerWarningCode[]])

export const ManagerWarning = z.object({
  code: ManagerWarningCode,
  message: z.string().describe('Which managers, and what to do.'),
})
export type ManagerWarning = z.infer<typeof ManagerWarning>
