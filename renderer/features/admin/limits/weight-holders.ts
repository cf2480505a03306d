import { type ApiClient, type Group } from '#manager/contract'
import { FOUND } from '../useFound.ts'

type Api = Pick<ApiClient, 'getUser' | 'listUsers' | 'listGroups'>

/** A user or project that has a weight, with the name by which people know it. */
export interface WeightHolder {
  readonly id: string
  readonly name: string
}

/** Finds holders of weights by a typed text, and names them by id. */
interface Directory {
  find(api: Api, text: string, signal: AbortSignal): Promise<readonly WeightHolder[]>
  /** Undefined if the holder has been deleted. */
  nameOf(api: Api, id: string, signal: AbortSignal): Promise<string | undefined>
}

/** Domains may have projects of the same name. */
const projectName = ({ domain, name }: Group) => `${domain}/${name}`

export const WEIGHT_HOLDERS: Readonly<Record<'users' | 'projects', Directory>> = {
  users: {
    async find(api, text, signal) {
      const { items } = await api.listUsers({
        query: { active: 'true', limit: FOUND, search: text || undefined },
        signal,
      })
      return items.map(({ id, email }) => ({ id, name: email }))
    },
    nameOf: (api, id, signal) =>
      api.getUser({ params: { id }, signal }).then(
        ({ email }) => email,
        () => undefined,
      ),
  },
  projects: {
    async find(api, text, signal) {
      const { items } = await api.listGroups({
        query: { active: 'true', limit: FOUND, search: text || undefined },
        signal,
      })
      return items.map(group => ({ id: group.id, name: projectName(group) }))
    },
    async nameOf(api, id, signal) {
      const { items } = await api.listGroups({ query: { search: id, limit: 1 }, signal })
      return items[0] && projectName(items[0])
    },
  },
}
