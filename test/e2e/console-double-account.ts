import {
  type AccessToken,
  type AccessTokenSpec,
  type AuthOptions,
  type Dotfile,
  type DotfileSpec,
  type ErrorCode,
  type Keypair,
  type Login,
  type Message,
  type SshKeypair,
} from '#manager/contract'
import { OWNER } from './console-world.ts'
import { type World } from './console-double-world.ts'

/** The code of the authenticator app that the double accepts. */
export const TOTP_CODE = '123456'
export const SSH_KEY: SshKeypair = {
  publicKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDm0n7Yk3m8v1s2l0xXJm0mQ3Jq7w2c5y8b4n6p1r9tZ mira@laptop',
  fingerprint: 'SHA256:4mQ8s1y0c3vXb7nL2kR9tW6pZ5jH1fD8gS0aE3uI7oM',
}
const TOTP_SECRET = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
const RECOVERY_CODES = Array.from({ length: 10 }, (_, index) => `k3vp-7mqa-x2f${index}-9htd`)

/** An access key of the signed-in person. */
export const aKeypair = (index: number): Keypair => ({
  accessKey: `AKIAABCDEFGHIJKLMNO${index}`,
  name: index === 0 ? 'Nightly evaluation' : '',
  userId: OWNER,
  email: 'mira@example.com',
  active: true,
  rateLimit: 1000,
  resourcePolicy: 'default',
  createdBy: null,
  waits: false,
  createdAt: '2026-11-01T09:00:00.000Z',
  lastUsedAt: null,
})
/** An access token of the signed-in person, which a coding agent uses. */
export const A_TOKEN: AccessToken = {
  id: '01990000-0000-7000-8000-00000000c001',
  name: 'Coding agent',
  scopes: ['read', 'launch', 'enter'],
  budget: { sessions: 4, sessionSeconds: 7200, gpuHours: 20 },
  sessions: 1,
  gpuHours: 3.5,
  app: null,
  createdAt: '2026-11-01T09:00:00.000Z',
  lastUsedAt: '2026-11-02T09:00:00.000Z',
  address: '127.0.0.1',
  expiresAt: '2027-01-30T09:00:00.000Z',
}
/** An access key that an administrator made for the signed-in person. */
export const WAITING: Keypair = { ...aKeypair(9), active: false, waits: true, createdBy: 'chief@example.com' }
const CHANGED_AT = '2026-11-01T09:00:00.000Z'
/** The sign-in of the double's browser. */
export const THIS_LOGIN: Login = {
  id: '01990000-0000-7000-8000-00000000a001',
  kind: 'browser',
  label: 'Chrome, Linux',
  address: '127.0.0.1',
  createdAt: '2026-11-01T09:00:00.000Z',
  lastUsedAt: '2026-11-02T09:00:00.000Z',
  expiresAt: '2026-11-08T09:00:00.000Z',
  accessKey: null,
  isThis: true,
}
/** Another sign-in, of the command line. */
export const OTHER_LOGIN: Login = {
  ...THIS_LOGIN,
  id: '01990000-0000-7000-8000-00000000a002',
  kind: 'token',
  label: 'berth CLI on lab-gpu-workstation-3.example.org',
  address: '2001:db8:85a3::8a2e:370:7334',
  accessKey: 'AKIAABCDEFGHIJKLMNO0',
  isThis: false,
}

const news = (index: number, about: Message['about'], detail = '', from = 'mira@example.com'): Message => ({
  id: `01990000-0000-7000-8000-00000000b10${9 - index}`,
  at: `2026-11-0${9 - index}T09:00:00.000Z`,
  from,
  text: '',
  sessions: [],
  about,
  detail,
})
/** News of the account, newest first. */
export const NEWS: readonly Message[] = [
  news(0, 'left_dotfiles', '.bashrc, .config/a-very-long-name-of-a-tool-without-spaces/settings.local.json'),
  news(1, 'own_password_chosen'),
  news(2, 'own_link_used'),
  news(3, 'own_keypair_made', 'AKIAABCDEFGHIJKLMNO0'),
  news(4, 'password_link', '', 'chief@example.com'),
  news(5, 'role_changed', 'user', 'chief@example.com'),
]
/** A page of the news for the query of a request. */
export function newsPage(
  all: readonly Message[],
  query: URLSearchParams,
): { items: Message[]; nextCursor: string | null } {
  const begin = all.findIndex(({ id }) => id === query.get('cursor')) + 1
  const items = all.slice(begin, begin + Number(query.get('limit')))
  return { items, nextCursor: begin + items.length < all.length ? (items.at(-1)?.id ?? null) : null }
}

export type Answer = { status: number; value?: unknown } | { error: ErrorCode }

/** Signing in, and what people do with their own account. @returns undefined for a route that is not about that */
export function answerAccount(world: World, route: string, body: unknown): Answer | undefined {
  switch (route) {
    case 'POST /api/v1/auth/login':
    case 'POST /api/v1/auth/ticket':
    case 'POST /api/v1/auth/keypair':
      world.signedIn = true
      return { status: 200, value: { ...meOf(world), token: tokenFor(world, body), originSecret: 'a-secret' } }
    case 'POST /api/v1/auth/logout':
      world.signedIn = false
      return { status: 204 }
    case 'GET /api/v1/auth/options': {
      const none: AuthOptions = {
        signUp: 'off',
        verification: 'mail',
        passwordReset: 'mail',
        passwordSignIn: 'everyone',
        providers: [],
        signUpEmailDomains: null,
        signUpNote: null,
        idleSignOutMinutes: null,
        termsUrl: null,
        privacyUrl: null,
        firstStart: false,
        signInsEnded: false,
      }
      return { status: 200, value: { ...none, ...world.authOptions } }
    }
    case 'POST /api/v1/auth/sign-up':
      return { status: 202, value: { next: 'verify_email' } }
    case 'POST /api/v1/auth/sign-up-requests':
      return { status: 202, value: { next: 'confirm_email' } }
    case 'POST /api/v1/auth/sign-up-requests/confirm':
      return { status: 204 }
    case 'POST /api/v1/auth/verification':
    case 'POST /api/v1/auth/password-reset':
      return { status: 202, value: {} }
    case 'POST /api/v1/auth/verify-email':
      return { status: 200, value: { email: meOf(world).user.email } }
    case 'GET /api/v1/me':
      return { status: 200, value: meOf(world) }
    case 'PUT /api/v1/auth/password-reset':
    case 'POST /api/v1/me/password':
      return { status: 204 }
    case 'GET /api/v1/me/totp':
      return { status: 200, value: world.totp ?? { enabled: false, recoveryCodesLeft: 0 } }
    case 'POST /api/v1/me/totp': {
      const uri = `otpauth://totp/Berth:mira%40example.com?secret=${TOTP_SECRET}&issuer=Berth`
      return { status: 201, value: { secret: TOTP_SECRET, uri } }
    }
    case 'POST /api/v1/me/totp/confirm':
    case 'POST /api/v1/me/totp/recovery-codes':
      if (codeOf(body) !== TOTP_CODE) return { error: 'totp_invalid' }
      world.totp = { enabled: true, recoveryCodesLeft: RECOVERY_CODES.length }
      return { status: 200, value: { codes: RECOVERY_CODES } }
    case 'POST /api/v1/me/totp/disable':
      if (codeOf(body) !== TOTP_CODE) return { error: 'totp_invalid' }
      world.totp = { enabled: false, recoveryCodesLeft: 0 }
      return { status: 204 }
    case 'GET /api/v1/me/identities':
      return { status: 200, value: { items: world.identities ?? [] } }
    case 'GET /api/v1/me/logins':
      return { status: 200, value: { items: world.logins ?? [THIS_LOGIN] } }
    case 'DELETE /api/v1/me/logins': {
      const ended = (world.logins ?? []).filter(({ isThis }) => !isThis).length
      world.logins = [THIS_LOGIN]
      return { status: 200, value: { ended } }
    }
    case 'GET /api/v1/me/dotfiles':
      return { status: 200, value: { items: world.dotfiles ?? [] } }
    case 'PUT /api/v1/me/dotfiles': {
      const file: Dotfile = { ...(body as DotfileSpec), changedAt: CHANGED_AT }
      world.dotfiles = [...(world.dotfiles ?? []).filter(({ path }) => path !== file.path), file]
      return { status: 200, value: file }
    }
    case 'DELETE /api/v1/me/dotfiles':
      world.dotfiles = []
      return { status: 204 }
    case 'GET /api/v1/me/bootstrap-script':
      return { status: 200, value: world.bootstrapScript ?? { script: '', changedAt: null } }
    case 'PUT /api/v1/me/bootstrap-script':
      world.bootstrapScript = { ...(body as { script: string }), changedAt: CHANGED_AT }
      return { status: 200, value: world.bootstrapScript }
    case 'GET /api/v1/keypairs':
      return {
        status: 200,
        value: { items: world.keypairs ?? [], nextCursor: null, total: world.keypairs?.length ?? 0 },
      }
    case 'POST /api/v1/keypairs': {
      const { name = '' } = body as { name?: string }
      const keypair = { ...aKeypair(world.keypairs?.length ?? 0), name }
      world.keypairs = [...(world.keypairs ?? []), keypair]
      return { status: 201, value: { ...keypair, secretKey: 's'.repeat(40) } }
    }
    case 'GET /api/v1/me/tokens':
      return { status: 200, value: { items: world.tokens ?? [] } }
    case 'POST /api/v1/me/tokens': {
      const { name, scopes, budget, app } = body as AccessTokenSpec
      const { sessions = null, sessionSeconds = null, gpuHours = null } = budget ?? {}
      const made = {
        ...A_TOKEN,
        id: A_TOKEN.id.replace('c001', 'c002'),
        name,
        scopes,
        budget: { sessions, sessionSeconds, gpuHours },
        app: app ? { ...app, sessionName: 'train' } : null,
        lastUsedAt: null,
      }
      world.tokens = [made, ...(world.tokens ?? [])]
      return { status: 201, value: { ...made, token: `berth_${'t'.repeat(43)}` } }
    }
    case `POST /api/v1/keypairs/${WAITING.accessKey}/accept`: {
      const accepted = { ...WAITING, waits: false, active: true }
      world.keypairs = world.keypairs?.map(one => (one.accessKey === accepted.accessKey ? accepted : one)) ?? []
      return { status: 200, value: { ...accepted, secretKey: 's'.repeat(40) } }
    }
    case 'GET /api/v1/me/ssh-keypair':
      return { status: 200, value: world.sshKey ?? { publicKey: null, fingerprint: null } }
    case 'POST /api/v1/me/ssh-keypair':
      world.sshKey = SSH_KEY
      return { status: 201, value: { ...SSH_KEY, privateKey: 'a private key\n' } }
    case 'PUT /api/v1/me/ssh-keypair':
      world.sshKey = { ...SSH_KEY, ...(body as { publicKey: string }) }
      return { status: 200, value: world.sshKey }
    case 'DELETE /api/v1/me/ssh-keypair':
      delete world.sshKey
      return { status: 204 }
    default: {
      const [, kind, ended] = /^DELETE \/api\/v1\/me\/(logins|tokens)\/(.+)$/.exec(route) ?? []
      if (kind === 'logins') world.logins = (world.logins ?? []).filter(({ id }) => id !== ended)
      else if (kind === 'tokens') world.tokens = (world.tokens ?? []).filter(({ id }) => id !== ended)
      else return undefined
      return { status: 204 }
    }
  }
}

const codeOf = (body: unknown) => (body as { code: string }).code

function meOf(world: World) {
  const email = world.role === 'superadmin' ? 'admin@localhost' : 'mira@example.com'
  const name = world.role === 'superadmin' ? 'Administrator' : 'Mira Holm'
  const createdAt = '2026-11-01T09:00:00.000Z'
  const id = OWNER
  const flags = { active: true, emailVerified: true, secondFactor: false, resourcePolicy: 'default' }
  const groups = world.projects ?? []
  const user = { id, email, name, role: world.role, domain: 'default', groups, ...flags, createdAt }
  return { user, expiresAt: '2027-01-01T00:00:00.000Z' }
}

/** Browsers get a cookie, programs a token. */
function tokenFor({ token = 'a-token' }: World, body: unknown): string | null {
  return typeof body === 'object' && body !== null && 'kind' in body && body.kind === 'token' ? token : null
}
