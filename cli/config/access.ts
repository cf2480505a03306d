import { ACCESS_KEY, AppError, type SignableRequest, type SigningKeypair, signRequest } from '#manager/contract/light'
import { refuseForeignListener } from '#proxy/listener-user'
import { isLoopbackName, isSameServer } from './loopback-name.ts'
import { readSignIn, type SignIn } from './sign-in.ts'

/** The Berth that a command uses, and how its requests are authenticated. */
export interface Access {
  /** Address of the Berth, without a slash at its end. */
  readonly endpoint: string
  /** Headers that authenticate this request. */
  readonly credentials: (request: SignableRequest) => Promise<Record<string, string>>
  /** Undefined with a keypair or an access token. */
  readonly signIn: SignIn | undefined
}

/**
 * The access token of the environment (BERTH_TOKEN), else its keypair (BERTH_ACCESS_KEY, BERTH_SECRET_KEY), else the sign-in. If BERTH_ENDPOINT names another Berth
 * than the sign-in, only a keypair is sent there: a signature is worthless elsewhere, a token is not.
 */
export async function findAccess(): Promise<Access> {
  if (process.env.BERTH_TOKEN) return accessByToken(process.env.BERTH_TOKEN)
  const keypair = keypairOf(process.env)
  return keypair ? await accessByKeypair(keypair) : await accessBySignIn()
}

/** @throws AppError `not_signed_in`, also if BERTH_ENDPOINT names another Berth than the sign-in */
export async function accessBySignIn(): Promise<Access & { readonly signIn: SignIn }> {
  const signIn = await readSignIn()
  const endpoint = trimmed(signIn.endpoint)
  const wanted = process.env.BERTH_ENDPOINT
  if (wanted && !isSameServer(wanted, endpoint)) {
    const why = `BERTH_ENDPOINT is ${wanted}, but you are signed in to ${endpoint}. Sign in first: berth login --endpoint ${wanted} --email YOU.`
    throw new AppError('not_signed_in', { why })
  }
  return { endpoint, credentials: latestOf(signIn), signIn }
}

export const trimmed = (endpoint: string) => endpoint.replace(/\/+$/, '')

/** @throws AppError `unavailable` if the program of another user would get the token */
export async function headersOf({ endpoint, token, listener }: SignIn): Promise<Record<string, string>> {
  await refuseForeignListener(endpoint, listener)
  return { authorization: `Bearer ${token}` }
}

/**
 * Credentials of the latest sign-in: a tunnel may outlive its own sign-in. It continues with the same user's next sign-in, and
 * ignores those of others.
 */
function latestOf(signIn: SignIn): Access['credentials'] {
  let latest = signIn
  return async () => {
    const found = await readSignIn()
    if (found.endpoint === signIn.endpoint && found.userId === signIn.userId) latest = found
    return await headersOf(latest)
  }
}

/**
 * The access token of a program. Threat model: whoever gets the token has its rights, so it is sent only where BERTH_ENDPOINT says, encrypted
 * or to this computer, and there only to a program of this user or root. Like a keypair it is readable by this user and root, and never
 * printed.
 *
 * @throws AppError `config_invalid`
 */
function accessByToken(token: string): Access {
  const endpoint = trimmed(process.env.BERTH_ENDPOINT ?? '')
  const url = URL.parse(endpoint)
  if (!url)
    throw new AppError('config_invalid', { why: 'With BERTH_TOKEN, also set BERTH_ENDPOINT to the address of Berth.' })
  if (url.protocol !== 'https:' && !isLoopbackName(url.hostname)) {
    throw new AppError('config_invalid', {
      why: `BERTH_TOKEN would be sent unencrypted to ${url.origin}. Use https://.`,
    })
  }
  return {
    endpoint,
    signIn: undefined,
    credentials: async () => {
      await refuseForeignListener(endpoint, undefined)
      return { authorization: `Bearer ${token}` }
    },
  }
}

async function accessByKeypair(keypair: SigningKeypair): Promise<Access> {
  const endpoint = trimmed(process.env.BERTH_ENDPOINT ?? (await endpointOfSignIn()))
  return { endpoint, credentials: request => signRequest(request, keypair), signIn: undefined }
}

async function endpointOfSignIn(): Promise<string> {
  const signIn = await readSignIn().catch((error: unknown) => {
    const why = 'With BERTH_ACCESS_KEY, also set BERTH_ENDPOINT to the address of Berth.'
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
    throw new AppError('config_invalid', { why: 'Set both BERTH_ACCESS_KEY and BERTH_SECRET_KEY, or neither.' })
  }
  if (!ACCESS_KEY.test(accessKey)) {
    throw new AppError('config_invalid', {
      why: 'BERTH_ACCESS_KEY is not an access key (AKIA and 16 letters or digits).',
    })
  }
  return { accessKey, secretKey }
}
