import { InvalidArgumentError } from 'commander'
import { defined } from '#base/defined'
import { type ApiClient, AppError, LARGEST_WEIGHT, type ResourceGroupOptions } from '#manager/contract'
import { findGroup, findUserId } from './find-user.ts'

/** A weight of a resource group as it is typed: a user or project, and the factor. */
export interface TypedWeight {
  /** Address or id of a user; id or name of a project. */
  readonly of: string
  readonly factor: number
}

type Collect = (text: string, before?: readonly TypedWeight[]) => readonly TypedWeight[]

/** Reads `ada@example.org=2`. The second argument is what earlier options of the same command gave. */
export const collectWeight = collector('a user', 'ada@example.org=2')
/** Reads `speech=2`, and `lab/speech=2`. */
export const collectProjectWeight = collector('a project', 'speech=2')

function collector(what: string, example: string): Collect {
  return (text, before = []) => {
    const [, of, typed] = /^(.+)=([^=]+)$/.exec(text) ?? []
    const factor = Number(typed)
    if (of === undefined || !(factor > 0 && factor <= LARGEST_WEIGHT)) {
      throw new InvalidArgumentError(`Write ${what} and a factor of at most ${LARGEST_WEIGHT}, e.g. ${example}.`)
    }
    return [...before, { of, factor }]
  }
}

/** The options with these weights added. Without an entry the factor is 1, so an entry of 1 is removed. */
export async function withWeights(
  api: ApiClient,
  { weights, projectWeights, ...others }: ResourceGroupOptions,
  typed: { readonly users: readonly TypedWeight[]; readonly projects: readonly TypedWeight[] },
): Promise<ResourceGroupOptions> {
  return {
    ...others,
    ...defined({
      weights: await changed(weights, typed.users, user => findUserId(api, user)),
      projectWeights: await changed(projectWeights, typed.projects, async name => (await findGroup(api, name)).id),
    }),
  }
}

/** @returns undefined if no weight is left */
async function changed(
  before: Readonly<Record<string, number>> = {},
  typed: readonly TypedWeight[],
  idOf: (of: string) => Promise<string>,
): Promise<Record<string, number> | undefined> {
  const weights = new Map(Object.entries(before))
  for (const { of, factor } of typed) {
    const id = await idOf(of)
    if (factor === 1) weights.delete(id)
    else weights.set(id, factor)
  }
  return weights.size === 0 ? undefined : Object.fromEntries(weights)
}

/** The present options of a group, to which a command adds. @throws AppError `resource_group_not_found` */
export async function optionsOf(api: ApiClient, name: string): Promise<ResourceGroupOptions> {
  const { items } = await api.listResourceGroups()
  const group = items.find(one => one.name === name)
  if (!group) throw new AppError('resource_group_not_found', { why: `There is no resource group "${name}".` })
  return group.options
}
