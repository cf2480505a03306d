import { durationText, type Manager, type ManagerWarning } from '#manager/contract'

export const MAX_CLOCK_MS = 5_000

export type JudgedManager = Pick<Manager, 'url' | 'version' | 'clockAheadMs' | 'agents' | 'agentsVia' | 'agentsMissing'>

/** Warnings about problems that an administrator should fix. Pure. */
export function judgeManagers(managers: readonly JudgedManager[]): ManagerWarning[] {
  return [...judgeVersions(managers), ...managers.flatMap(judgeClock), ...managers.flatMap(judgeReach)]
}

function judgeVersions(managers: readonly JudgedManager[]): ManagerWarning[] {
  const versions = [...new Set(managers.map(({ version }) => version))].toSorted()
  if (versions.length < 2) return []
  const list = managers.map(({ url, version }) => `${url} is ${version}`).join(', ')
  return [{ code: 'manager_versions_differ', message: `${list}. Bring all to one version.` }]
}

function judgeClock({ url, clockAheadMs }: JudgedManager): ManagerWarning[] {
  if (Math.abs(clockAheadMs) <= MAX_CLOCK_MS) return []
  const seconds = Math.round(Math.abs(clockAheadMs) / 1000)
  const where = clockAheadMs > 0 ? 'ahead of' : 'behind'
  const message = `The clock of ${url} is ${seconds} s ${where} that of the database. Synchronise both with a time server.`
  return [{ code: 'manager_clocks_differ', message }]
}

function judgeReach({ url, agents, agentsVia, agentsMissing }: JudgedManager): ManagerWarning[] {
  if (agentsVia + agentsMissing === 0) return []
  const how = [
    ...(agentsVia > 0 ? [`${agentsVia} connect through another manager`] : []),
    ...(agentsMissing > 0 ? [`${agentsMissing} are not connected to it`] : []),
  ].join(', ')
  const message =
    `${agentsVia + agentsMissing} of ${agents + agentsMissing} agents cannot dial ${url}: ${how}. ` +
    'Check BERTH_ADVERTISE_URL of that manager, its certificate, and the firewalls in between.'
  return [{ code: 'manager_not_dialled', message }]
}

/** Warnings about the database's clock, from which all times of record come. Pure. */
export function judgeDatabaseClock(step: { readonly byMs: number } | undefined): ManagerWarning[] {
  if (!step) return []
  const how = `${step.byMs > 0 ? 'forward' : 'back'} by ${durationText(Math.abs(step.byMs) / 1000)}`
  const message = `The clock of the database jumped ${how}: it was set, or its computer slept. Synchronise it with a time server.`
  return [{ code: 'database_clock_set', message }]
}
