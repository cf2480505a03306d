import { setTimeout as delay } from 'node:timers/promises'
import {
  AccessKey,
  type ApiClient,
  AppError,
  type ClientDeps,
  createClient,
  type SignableRequest,
  type SigningKeypair,
  signRequest,
} from '#manager/contract'
import { readSignIn, type SignIn } from './sign-in.ts'
import { explainFailure, trustSystemCertificates } from './system-certificates.ts'

export interface Connection {
  readonly api: ApiClient
  /** Address of the Berth, without a slash at its end. */
  readonly endpoint: string
  /** Headers that authenticate this request. */
  readonly credentials: (request: SignableRequest) => Promise<Record<string, string>>
  readonly userId: () => Promise<string>
}

const fetchFrom: ClientDeps['fetch'] = (url, init) =>
  fetch(url, init as RequestInit).catch((error: unknown) => explainFailure(url, error))

export function clientOf(baseUrl: string, headers: Readonly<Record<string, string>> = {}): ApiClient {
  trustSystemCertificates(baseUrl)
  return createClient({ baseUrl, headers: () => headers, fetch: fetchFrom, wait: ms => delay(ms) })
}

const trimmed = (endpoint: string) => endpoint.replace(/\/+$/, '')

/**
 * Connects to the API with the keypair of the environment (BERTH_ACCESS_KEY, BERTH_SECRET_KEY), else as the signed-in user. If
 * BERTH_ENDPOINT names another Berth than the sign-in, only a keypair is sent there: a signature is worthless elsewhere, a
 * token is not.
 */
export async function connect(): Promise<Connection> {
  const keypair = keypairOf(process.env)
  return keypair ? await connectByKeypair(keypair) : await connectBySignIn()
}

/** @throws AppError `not_signed_in`, also if BERTH_ENDPOINT names another Berth than the sign-in */
export async function connectBySignIn(): Promise<Connection> {
  const signIn = await readSignIn()
  const endpoint = trimmed(signIn.endpoint)
  const wanted = process.env.BERTH_ENDPOINT
  if (wanted && URL.parse(wanted)?.origin !== new URL(endpoint).origin) {
    const why = `BERTH_ENDPOINT is ${wanted}, the sign-in is for ${endpoint}. Sign in there first: berth login --endpoint ${wanted} --email YOU.`
    throw new AppError('not_signed_in', { why })
  }
  return {
    api: apiOf(signIn),
    endpoint,
    credentials: latestOf(signIn),
    userId: () => Promise.resolve(signIn.userId),
  }
}

/** API of the Berth that issued this token, whatever BERTH_ENDPOINT names. */
export const apiOf = (signIn: SignIn): ApiClient => clientOf(trimmed(signIn.endpoint), headersOf(signIn))

const headersOf = ({ token }: SignIn) => ({ authorization: `Bearer ${token}` })

/**
 * Credentials of the latest sign-in: a tunnel may outlive its own sign-in. It continues with the same user's next sign-in, and
 * ignores those of others.
 */
function latestOf(signIn: SignIn): Connection['credentials'] {
  let latest = signIn
  return async () => {
    const found = await readSignIn()
    if (found.endpoint === signIn.endpoint && found.userId === signIn.userId) latest = found
    return headersOf(latest)
  }
}

async function connectByKeypair(keypair: SigningKeypair): Promise<Connection> {
  const endpoint = trimmed(process.env.BERTH_ENDPOINT ?? (await endpointOfSignIn()))
  trustSystemCertificates(endpoint)
  const credentials = (request: SignableRequest) => signRequest(request, keypair)
  const api = createClient({
    baseUrl: endpoint,
    sign: credentials,
    fetch: fetchFrom,
    wait: ms => delay(ms),
  })
  return { api, endpoint, credentials, userId: async () => (await api.me()).user.id }
}

async function endpointOfSignIn(): Promise<string> {
  const signIn = await readSignIn().catch((error: unknown) => {
    const why = 'With BERTH_ACCESS_KEY, set BERTH_ENDPOINT to the address of the Berth.'
    throw new AppError('config_invalid', { why }, { cause: error })
  })
  return signIn.endpoint
}

/**
 * The keypair of a job that cannot sign in. Threat model: the environment of a process is readable by its user and root, as a
 * file of theirs would be; the keypair is never printed, and never on a command line.
 *
 * @throws AppError `config_invalid` if only half of it is set, or it is not a keypair
 */
export function keypairOf(env: Readonly<Record<string, string | undefined>>): SigningKeypair | undefined {
  const { BERTH_ACCESS_KEY: accessKey, BERTH_SECRET_KEY: secretKey } = env
  if (!accessKey && !secretKey) return undefined
  if (!accessKey || !secretKey) {
    throw new AppError('config_invalid', { why: 'Set both BERTH_ACCESS_KEY and BERTH_SECRET_KEY, or none.' })
  }
  if (!AccessKey.safeParse(accessKey).success) {
    throw new AppError('config_invalid', {
      why: 'BERTH_ACCESS_KEY is not an access key (AKIA and 16 letters or digits).',
    })
  }
  return { accessKey, secretKey }
}
