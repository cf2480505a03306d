import { hostname } from 'node:os'
import { type Command } from 'commander'
import { defined } from '#base/defined'
import { type ApiClient, AppError, isAppError, type RouteReply } from '#manager/contract'
import { apiOf, clientOf, connect } from '../config/connect.ts'
import { isLoopbackName } from '../config/loopback-name.ts'
import { readSignIn, removeSignIn, writeSignIn } from '../config/sign-in.ts'
import { isUntrusted } from '#proxy/certificates'
import { listenerToRemember } from '#proxy/listener-user'
import { createNetwork, environmentWays, usePins } from '#proxy/network'
import { parseFingerprint, readCertificates, trustServer } from '../config/certificates.ts'
import { createOutput } from '../output.ts'
import { promptSecret, readStandardInput } from '../secret-input.ts'
import { chosenProvider, hasBrowser, signInWithBrowser } from './sso-sign-in.ts'

interface LoginFlags {
  endpoint?: string
  fingerprint?: string
  allowHttp?: boolean
  email?: string
  /** True: the only provider. */
  sso?: string | true
  /** Name in a directory. */
  user?: string
  /** False with `--no-browser`. */
  browser: boolean
  passwordStdin?: boolean
  totp?: string
  totpStdin?: boolean
  newPasswordStdin?: boolean
  json?: boolean
}

/**
 * Adds `login`, `logout` and `whoami`. The password comes from a prompt or standard input, never from the command line. A code
 * of an authenticator app may be given on the command line, because it works only once.
 */
export function addLoginCommands(program: Command): void {
  program
    .command('login')
    .description('Sign in to Berth.')
    .option('--endpoint <url>', 'address of the console or the manager (BERTH_ENDPOINT)')
    .option('--fingerprint <sha256>', 'trust the server with exactly this certificate, which no authority vouches for')
    .option('--allow-http', 'allow sending password and token unencrypted to another computer')
    .option('--email <address>', 'your e-mail address')
    .option(
      '--sso [provider]',
      'sign in at a provider of your organization: in a browser, or with --user at a directory',
    )
    .option('--user <name>', 'with --sso of a directory: your name there; the password is asked for')
    .option('--no-browser', 'with --sso: print an address for a browser on any computer, and ask for its code')
    .option('--password-stdin', 'read the password from standard input')
    .option('--totp <code>', 'code from your authenticator app, or a recovery code')
    .option('--totp-stdin', 'read the code from standard input, from the line after the password')
    .option(
      '--new-password-stdin',
      'where an administrator requires a new password: read it from the last line of standard input',
    )
    .option('--json', 'print JSON')
    .action(async (flags: LoginFlags) => {
      const endpoint = endpointOf(flags.endpoint ?? process.env.BERTH_ENDPOINT, flags.allowHttp)
      if (flags.fingerprint !== undefined) await pin(endpoint, flags.fingerprint)
      const signingIn =
        flags.sso === undefined ? signInWithPassword(clientOf(endpoint), flags) : signInAtProvider(endpoint, flags)
      const { user, token, expiresAt } = await signingIn.catch((error: unknown) => withFingerprint(endpoint, error))
      if (!token) throw new AppError('internal', { why: 'The manager did not send a token.' })
      const listener = await listenerToRemember(endpoint)
      await writeSignIn({ endpoint, userId: user.id, email: user.email, token, expiresAt, ...defined({ listener }) })
      createOutput(flags.json ?? false).data(
        { endpoint, user, expiresAt },
        () => `Signed in to ${endpoint} as ${user.email}.`,
      )
    })

  program
    .command('logout')
    .description('End the sign-in here and on the server.')
    .action(async () => {
      const api = apiOf(await readSignIn())
      try {
        await api.logout()
      } finally {
        await removeSignIn()
      }
    })

  program
    .command('whoami')
    .description('Who is signed in, and where.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api, endpoint } = await connect()
      const { user } = await api.me()
      createOutput(json).data({ endpoint, user }, () => `${user.email} (${user.role}) at ${endpoint}`)
    })
}

/**
 * Pins the server whose certificate, or whose key, has this fingerprint. The key is pinned, because a renewed certificate keeps it.
 *
 * @throws AppError `unavailable` if the server shows another
 */
async function pin(endpoint: string, named: string): Promise<void> {
  const wanted = parseFingerprint(named)
  const { fingerprint, key, pin: shown } = await shownBy(endpoint)
  if (fingerprint !== wanted && key !== wanted) {
    const why = `The certificate of ${endpoint} has another fingerprint: SHA-256 ${fingerprint}. Nothing was sent.`
    throw new AppError('unavailable', { why })
  }
  await trustServer(endpoint, shown)
  usePins(readCertificates)
}

/** A certificate that no authority vouches for is shown, so that the user can compare it. @throws the error, or one with the fingerprint */
async function withFingerprint(endpoint: string, error: unknown): Promise<never> {
  if (!(error instanceof Error) || !isUntrusted(error.cause)) throw error
  const { fingerprint } = await shownBy(endpoint)
  const why =
    `No authority that this computer knows vouches for the certificate of ${endpoint}. Its fingerprint is SHA-256 ${fingerprint}. ` +
    `If the administrator of the server confirms it, add: --fingerprint ${fingerprint}`
  throw new AppError('unavailable', { why }, { cause: error })
}

const shownBy = (endpoint: string) =>
  createNetwork({ findWays: environmentWays(process.env) }).shownBy(new URL(endpoint))

const label = () => `berth CLI on ${hostname()}`

async function signInWithPassword(api: ApiClient, flags: LoginFlags): Promise<RouteReply<'login'>> {
  const { email } = flags
  if (email === undefined) {
    throw new AppError('bad_request', { why: 'Give --email ADDRESS, or --sso to sign in at a provider.' })
  }
  const { password, totp, newPassword } = await readSecrets({ ...flags, email })
  const body = { email, password, kind: 'token', label: label() } as const
  return await withNewPassword(
    next => withCode(code => api.login({ body: { ...body, ...next, ...code } }), totp),
    newPassword,
  )
}

async function signInAtProvider(endpoint: string, flags: LoginFlags): Promise<RouteReply<'login'>> {
  const api = clientOf(endpoint)
  const provider = await chosenProvider(api, typeof flags.sso === 'string' ? flags.sso : undefined)
  if (provider.kind === 'ldap') return await signInAtDirectory(api, provider, flags)
  const output = createOutput(flags.json ?? false)
  const browserHere = flags.browser && hasBrowser()
  return await signInWithBrowser(
    api,
    { endpoint, provider: provider.id, browserHere },
    proof => {
      const body = { ...proof, kind: 'token', label: label() } as const
      return withCode(code => api.finishSso({ body: { ...body, ...code } }), flags.totp)
    },
    text => output.note(text),
  )
}

async function signInAtDirectory(
  api: ApiClient,
  { id: provider, name }: { readonly id: string; readonly name: string },
  flags: LoginFlags,
): Promise<RouteReply<'login'>> {
  const { user: username } = flags
  if (username === undefined) {
    throw new AppError('bad_request', { why: `${name} takes a name and a password. Give the name with --user NAME.` })
  }
  const { password, totp } = await readSecrets({ ...flags, email: `${username} at ${name}` })
  const { secret, code } = await api.proveAtDirectory({ body: { provider, username, password } })
  const body = { secret, code, kind: 'token', label: label() } as const
  return await withCode(next => api.finishSso({ body: { ...body, ...next } }), totp)
}

async function readSecrets(flags: LoginFlags & { email: string }): Promise<{
  password: string
  totp: string | undefined
  newPassword?: string | undefined
}> {
  const { totpStdin, newPasswordStdin } = flags
  if (totpStdin || newPasswordStdin) {
    if (!flags.passwordStdin) {
      const flag = totpStdin ? '--totp-stdin' : '--new-password-stdin'
      throw new AppError('bad_request', { why: `${flag} needs --password-stdin.` })
    }
    const [password = '', ...lines] = (await readStandardInput()).split(/\r?\n/)
    const totp = totpStdin ? lines.shift() : flags.totp
    return { password, totp, newPassword: newPasswordStdin ? lines.shift() : undefined }
  }
  const password = flags.passwordStdin ? await readStandardInput() : await promptSecret(`Password of ${flags.email}: `)
  return { password, totp: flags.totp }
}

/** Signs in; asks for the code if the account has a second factor and there is a terminal. */
async function withCode(
  signIn: (code: { totp?: string }) => Promise<RouteReply<'login'>>,
  totp: string | undefined,
): Promise<RouteReply<'login'>> {
  try {
    return await signIn(defined({ totp }))
  } catch (error) {
    if (!isAppError(error) || error.code !== 'totp_required' || !process.stdin.isTTY) throw error
    return await signIn({ totp: await promptSecret('Code from your authenticator app: ', '--totp or --totp-stdin') })
  }
}

/** Signs in; asks for a new password, twice, if an administrator requires one and there is a terminal. */
async function withNewPassword(
  signIn: (next: { newPassword?: string }) => Promise<RouteReply<'login'>>,
  newPassword: string | undefined,
): Promise<RouteReply<'login'>> {
  try {
    return await signIn(defined({ newPassword }))
  } catch (error) {
    if (!isAppError(error) || error.code !== 'password_change_required' || !process.stdin.isTTY) throw error
    const chosen = await promptSecret('An administrator requires a new password: ', '--new-password-stdin')
    const again = await promptSecret('The new password again: ', '--new-password-stdin')
    if (chosen !== again) throw new AppError('bad_request', { why: 'The two passwords differ. Nothing was changed.' })
    return await signIn({ newPassword: chosen })
  }
}

/** @throws AppError `bad_request`, also if the password could be read on its way */
function endpointOf(text: string | undefined, allowHttp = false): string {
  if (!text)
    throw new AppError('bad_request', { why: 'Give the address of Berth with --endpoint URL or BERTH_ENDPOINT.' })
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new AppError('bad_request', { why: `"${text}" is not an http(s) address.` })
  if (url.protocol === 'http:' && !isLoopbackName(url.hostname) && !allowHttp) {
    const why = `The password would be sent unencrypted to ${url.origin}. Use https://, or allow it with --allow-http.`
    throw new AppError('bad_request', { why })
  }
  if (url.pathname !== '/') {
    const why = `Berth answers at the root of its address only: use ${url.origin} instead of ${url.origin}${url.pathname}.`
    throw new AppError('bad_request', { why })
  }
  return url.origin
}
