import { InvalidArgumentError } from 'commander'
import { type ApiClient, AppError, LARGEST_WEIGHT, type ResourceGroupOptions } from '#manager/contract'
import { findUserId } from './find-user.ts'

/** A weight of a resource group as it is typed: a user by address or id, and their factor. */
export interface TypedWeight {
  readonly user: string
  readonly factor: number
}

/** Reads `ada@example.org=2`. @param before the weights of earlier options of the same command */
export function collectWeight(text: string, before: readonly TypedWeight[] = []): readonly TypedWeight[] {
  const [, user, typed] = /^(.+)=([^=]+)$/.exec(text) ?? []
  const factor = Number(typed)
  if (user === undefined || !(factor > 0 && factor <= LARGEST_WEIGHT)) {
    throw new InvalidArgumentError(`Write a user and a factor of at most ${LARGEST_WEIGHT}, e.g. ada@example.org=2.`)
  }
  return [...before, { user, factor }]
}

/** The options with these weights as well. A user of factor 1 counts as everybody and needs no entry. */
export async function withWeights(
  api: ApiClient,
  options: ResourceGroupOptions,
  typed: readonly TypedWeight[],
): Promise<ResourceGroupOptions> {
  const weights = new Map(Object.entries(options.weights ?? {}))
  for (const { user, factor } of typed) {
    const id = await findUserId(api, user)
    if (factor === 1) weights.delete(id)
    else weights.set(id, factor)
  }
  const { weights: _, ...others } = options
  return weights.size === 0 ? others : { ...others, weights: Object.fromEntries(weights) }
}

/** The present options of a group, to which a command adds. @throws AppError `resource_group_not_found` */
export async function optionsOf(api: ApiClient, name: string): Promise<ResourceGroupOptions> {
  const { items } = await api.listResourceGroups()
  const group = items.find(one => one.name === name)
  if (!group) throw new AppError('resource_group_not_found', { why: `There is no resource group "${name}".` })
  return group.options
}
