import { durationText } from '#base/duration'
import { because, type Manager, type ManagerWarning, messageOf, together } from '#manager/contract'

export const MAX_CLOCK_MS = 5_000

export type JudgedManager = Pick<Manager, 'url' | 'version' | 'clockAheadMs' | 'agents' | 'agentsVia' | 'agentsMissing'>

/** Warnings about problems that an administrator should fix. Pure. */
export function judgeManagers(managers: readonly JudgedManager[]): ManagerWarning[] {
  return [...judgeVersions(managers), ...managers.flatMap(judgeClock), ...managers.flatMap(judgeReach)]
}

function judgeVersions(managers: readonly JudgedManager[]): ManagerWarning[] {
  const versions = [...new Set(managers.map(({ version }) => version))].toSorted()
  if (versions.length < 2) return []
  const list = managers.map(({ url, version }) => `${url} (${version})`).join(', ')
  return [messageOf('manager_versions_differ', because('managers_of_versions', { managers: list }))]
}

function judgeClock({ url, clockAheadMs }: JudgedManager): ManagerWarning[] {
  if (Math.abs(clockAheadMs) <= MAX_CLOCK_MS) return []
  const values = { manager: url, seconds: Math.round(Math.abs(clockAheadMs) / 1000) }
  const why = because(clockAheadMs > 0 ? 'manager_ahead_of_database' : 'manager_behind_database', values)
  return [messageOf('manager_clocks_differ', why)]
}

function judgeReach({ url, agents, agentsVia, agentsMissing }: JudgedManager): ManagerWarning[] {
  const count = agentsVia + agentsMissing
  if (count === 0) return []
  const why = together(
    because('agents_not_dialling', { count, all: agents + agentsMissing, manager: url }),
    ...(agentsVia > 0 ? [because('agents_through_another', { count: agentsVia })] : []),
    ...(agentsMissing > 0 ? [because('agents_without_connection', { count: agentsMissing })] : []),
    because('check_advertised_address'),
  )
  return [messageOf('manager_not_dialled', why)]
}

/** Warnings about the database's clock, which gives all times of record. Pure. */
export function judgeDatabaseClock(step: { readonly byMs: number } | undefined): ManagerWarning[] {
  if (!step) return []
  const values = { time: durationText(Math.abs(step.byMs) / 1000) }
  const why = because(step.byMs > 0 ? 'database_clock_forward' : 'database_clock_back', values)
  return [messageOf('database_clock_set', why)]
}
