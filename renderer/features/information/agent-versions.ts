import { type Agent } from '#manager/contract'

export interface VersionGroup {
  readonly key: string
  /** Version of the agent. */
  readonly version: string
  /** Version of its Docker Engine; a dash while it has not reported one. */
  readonly engine: string
  /** Names of the hosts. */
  readonly names: readonly string[]
}

/** Hosts with the same versions together, the largest group first: hundreds of hosts mostly have two or three. */
export function groupVersions(
  agents: readonly Pick<Agent, 'name' | 'status' | 'version' | 'engineVersion'>[],
): readonly VersionGroup[] {
  const groups = new Map<string, { version: string; engine: string; names: string[] }>()
  for (const { name, status, version, engineVersion } of agents) {
    if (status === 'REVOKED') continue
    const key = `${version} ${engineVersion}`
    const group = groups.get(key) ?? { version, engine: engineVersion || '–', names: [] }
    group.names.push(name)
    groups.set(key, group)
  }
  return [...groups].map(([key, group]) => ({ key, ...group })).sort((a, b) => b.names.length - a.names.length)
}
