import { type AccessMatrix, type ResourceGroupAccess } from '#manager/contract'

/** Whether one domain or project may use one resource group. */
export interface AccessCell {
  readonly resourceGroup: string
  /** By a grant of its own. */
  readonly granted: boolean
  /** Of a project: its domain has a grant, which lets all projects in. */
  readonly inherited: boolean
  /** Of a domain without a grant: how many of its projects have one. */
  readonly projects: number
}

/** A domain, or a project below its domain, with a cell for each resource group in their order. */
export interface AccessLine {
  readonly kind: 'domain' | 'group'
  /** Name of the domain, or id of the project. */
  readonly id: string
  readonly name: string
  readonly domain: string
  readonly active: boolean
  /** Number of projects below it; of a project 0. */
  readonly projects: number
  readonly cells: readonly AccessCell[]
}

type Holder = Pick<ResourceGroupAccess, 'kind' | 'id'>
const keyOf = (resourceGroup: string, { kind, id }: Holder) => `${resourceGroup} ${kind} ${id}`

/** @param opened names of the domains whose projects are shown */
export function linesOf({ resourceGroups, domains, grants }: AccessMatrix, opened: ReadonlySet<string>): AccessLine[] {
  const has = new Set(grants.map(grant => keyOf(grant.resourceGroup, grant)))
  return domains.flatMap(({ name: domain, active, projects }) => {
    const ofDomain = { kind: 'domain', id: domain } as const
    const cells = resourceGroups.map(({ name }) => {
      const granted = has.has(keyOf(name, ofDomain))
      const some = projects.filter(({ id }) => has.has(keyOf(name, { kind: 'group', id }))).length
      return { resourceGroup: name, granted, inherited: false, projects: granted ? 0 : some }
    })
    const line: AccessLine = { ...ofDomain, name: domain, domain, active, projects: projects.length, cells }
    if (!opened.has(domain)) return [line]
    const below = projects.map((project): AccessLine => {
      const ofProject = { kind: 'group', id: project.id } as const
      return {
        ...ofProject,
        name: project.name,
        domain,
        active: project.active,
        projects: 0,
        cells: cells.map(({ resourceGroup, granted }) => ({
          resourceGroup,
          granted: has.has(keyOf(resourceGroup, ofProject)),
          inherited: granted,
          projects: 0,
        })),
      }
    })
    return [line, ...below]
  })
}

/** Number of users with a grant of their own, by resource group in their order. */
export function usersOf({ resourceGroups, grants }: AccessMatrix): { readonly name: string; readonly users: number }[] {
  const users = grants.filter(({ kind }) => kind === 'user')
  return resourceGroups.map(({ name }) => ({
    name,
    users: users.filter(({ resourceGroup }) => resourceGroup === name).length,
  }))
}

/** The matrix with these grants of one resource group in place of those that it had. */
export function withGrants(
  matrix: AccessMatrix,
  resourceGroup: string,
  items: readonly ResourceGroupAccess[],
): AccessMatrix {
  const others = matrix.grants.filter(grant => grant.resourceGroup !== resourceGroup)
  return { ...matrix, grants: [...others, ...items.map(item => ({ ...item, resourceGroup }))] }
}

export function withoutGrant(matrix: AccessMatrix, resourceGroup: string, holder: Holder): AccessMatrix {
  const gone = keyOf(resourceGroup, holder)
  return { ...matrix, grants: matrix.grants.filter(grant => keyOf(grant.resourceGroup, grant) !== gone) }
}
