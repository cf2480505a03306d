import { setTimeout as delay } from 'node:timers/promises'
import { defined } from '#base/defined'
import { type ApiClient, type ClientDeps, createClient } from '#manager/contract'
import { type Access, accessBySignIn, findAccess, headersOf, trimmed } from './access.ts'
import { type SignIn } from './sign-in.ts'
import { lastAnswer } from '../interrupt.ts'
import { explainFailure, trustSystemCertificates } from '#proxy/certificates'
import { fetchByEnvironment, replyOf } from '#proxy/network'

export interface Connection extends Pick<Access, 'endpoint' | 'credentials'> {
  readonly api: ApiClient
  readonly userId: () => Promise<string>
}

const fetchFrom: ClientDeps['fetch'] = async (url, init) => {
  try {
    return replyOf(await fetchByEnvironment(url, init as RequestInit))
  } catch (error) {
    const { signal } = init as RequestInit
    if (signal?.aborted) throw signal.reason
    return explainFailure(url, error)
  }
}

/** @param sign makes headers that authenticate a request; without it, nobody is signed in */
export function clientOf(baseUrl: string, sign?: ClientDeps['sign']): ApiClient {
  trustSystemCertificates(baseUrl)
  return createClient({
    baseUrl,
    fetch: fetchFrom,
    wait: ms => delay(ms),
    defaultSignal: lastAnswer,
    ...defined({ sign }),
  })
}

/** Connects to the API; `findAccess` says as whom. */
export const connect = async (): Promise<Connection> => connectWith(await findAccess())

/** @throws AppError `not_signed_in`, also if BERTH_ENDPOINT names another Berth than the sign-in */
export const connectBySignIn = async (): Promise<Connection> => connectWith(await accessBySignIn())

/** API of the Berth that issued this token, whatever BERTH_ENDPOINT names. */
export const apiOf = (signIn: SignIn): ApiClient => clientOf(trimmed(signIn.endpoint), () => headersOf(signIn))

function connectWith({ endpoint, credentials, signIn }: Access): Connection {
  if (signIn) return { api: apiOf(signIn), endpoint, credentials, userId: () => Promise.resolve(signIn.userId) }
  const api = clientOf(endpoint, credentials)
  return { api, endpoint, credentials, userId: async () => (await api.me()).user.id }
}
