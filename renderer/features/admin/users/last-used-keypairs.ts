import { type ApiClient, type RouteReply, type User } from '#manager/contract'

const SHOWN = 10

/** The keypairs that the page of a user shows: those used last. */
export const lastUsedKeypairs = (
  api: Pick<ApiClient, 'listKeypairs'>,
  owner: User['id'],
): Promise<RouteReply<'listKeypairs'>> => api.listKeypairs({ query: { owner, sort: '-used', limit: SHOWN } })
