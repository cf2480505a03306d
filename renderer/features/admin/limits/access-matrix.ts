import { type AccessMatrix, type ResourceGroupAccess } from '#manager/contract'

/** Whether one domain or project may use one resource group. */
export interface AccessCell {
  readonly resourceGroup: string
  /** True if it has its own grant. */
  readonly granted: boolean
  /** True for a project whose domain has a grant, which admits all its projects. */
  readonly inherited: boolean
  /** For a domain without its own grant: number of its projects with a grant; otherwise 0. */
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
  /** Number of hidden projects below it that can be opened; 0 for a project, and for a domain of which a search shows some. */
  readonly projects: number
  readonly cells: readonly AccessCell[]
}

type Holder = Pick<ResourceGroupAccess, 'kind' | 'id'>
const keyOf = (resourceGroup: string, { kind, id }: Holder) => `${resourceGroup} ${kind} ${id}`

/** The shown lines of the matrix. */
export interface AccessView {
  /** Names of the domains whose projects are shown. */
  readonly opened: ReadonlySet<string>
  /** Part of the name of a domain or project, in any letter case; projects that match are shown without opening their domain. */
  readonly search?: string
}

export function linesOf(
  { resourceGroups, domains, grants }: AccessMatrix,
  { opened, search = '' }: AccessView,
): AccessLine[] {
  const has = new Set(grants.map(grant => keyOf(grant.resourceGroup, grant)))
  const wanted = search.trim().toLowerCase()
  const matches = ({ name }: { readonly name: string }) => name.toLowerCase().includes(wanted)
  return domains.flatMap(of => {
    const { name: domain, active, projects } = of
    const found = wanted === '' ? [] : projects.filter(matches)
    if (found.length === 0 && !matches(of)) return []
    const ofDomain = { kind: 'domain', id: domain } as const
    const cells = resourceGroups.map(({ name }) => {
      const granted = has.has(keyOf(name, ofDomain))
      const some = projects.filter(({ id }) => has.has(keyOf(name, { kind: 'group', id }))).length
      return { resourceGroup: name, granted, inherited: false, projects: granted ? 0 : some }
    })
    const below = found.length > 0 ? 0 : projects.length
    const line: AccessLine = { ...ofDomain, name: domain, domain, active, projects: below, cells }
    const shown = found.length === 0 && opened.has(domain) ? projects : found
    const ofProjects = shown.map((project): AccessLine => {
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
    return [line, ...ofProjects]
  })
}

/** Number of users with their own grant, for each resource group in order. */
export function usersOf({ resourceGroups, grants }: AccessMatrix): { readonly name: string; readonly users: number }[] {
  const users = grants.filter(({ kind }) => kind === 'user')
  return resourceGroups.map(({ name }) => ({
    name,
    users: users.filter(({ resourceGroup }) => resourceGroup === name).length,
  }))
}

/** The matrix with the grants of one resource group replaced. */
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
