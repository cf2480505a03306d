import { z } from 'zod'
import { AppError, isAppError, type Me } from '#manager/contract'
import { originOf } from '../../origin.ts'
import { WEB_COOKIE, webToken } from '../admit.ts'
import { readInput } from '../input.ts'
import { type CompatContext, type CompatRoute } from '../route.ts'

const LoginInput = z.object({
  username: z.string().max(254),
  password: z.string().max(1024),
  otp: z.string().max(64).optional(),
})

const ROLES = { user: 'user', domain_admin: 'admin', superadmin: 'superadmin' } as const

/**
 * Signing in with a password, for the original's web mode and desktop app. The cookie holds a token of Berth, which ends as any other
 * sign-in; a page of another site cannot use it, because of its `SameSite` and because such a page has another Origin.
 *
 * Threat model: browsers send a cookie to every port of its host, also to those of programs of other people, for which the console's own
 * sign-ins have two halves (ADR 16). This port has no page, so no browser signs in here: clients keep the cookie for themselves.
 */
export const WEB_ROUTES: readonly CompatRoute[] = [
  { method: 'POST', path: '/server/login', open: true, handle: signIn },
  { method: 'GET', path: '/server/login-check', open: true, handle: check },
  { method: 'POST', path: '/server/login-check', open: true, handle: check },
  { method: 'POST', path: '/server/logout', open: true, handle: signOut },
]

async function signIn(context: CompatContext): Promise<unknown> {
  const { username, password, otp } = await readInput(context.request, LoginInput)
  try {
    const body = {
      email: username,
      password,
      kind: 'token',
      label: 'Backend.AI client',
      ...(otp ? { totp: otp } : {}),
    } as const
    const { token, ...me } = await context.api.login({ body })
    if (token === null) throw new AppError('login_failed')
    setCookie(context, token)
    return { authenticated: true, data: await accountOf(context, token, me), session_id: token }
  } catch (error) {
    if (!isAppError(error)) throw error
    // Clients read a failed sign-in from the answer, not from its status.
    return {
      authenticated: false,
      data: { type: 'https://api.backend.ai/probs/auth-failed', title: error.message, details: error.message },
    }
  }
}

async function check(context: CompatContext): Promise<unknown> {
  const token = webToken(context.request.raw)
  if (token === undefined) return { authenticated: false, data: null }
  try {
    const me = await context.calls.as({ kind: 'token', token }).api.me()
    return { authenticated: true, data: await accountOf(context, token, me), session_id: token }
  } catch (error) {
    if (isAppError(error) && error.code === 'not_signed_in') return { authenticated: false, data: null }
    throw error
  }
}

async function signOut(context: CompatContext): Promise<unknown> {
  const token = webToken(context.request.raw)
  if (token !== undefined) await context.calls.as({ kind: 'token', token }).api.logout()
  setCookie(context, '', 0)
  return {}
}

/** Account as a client shows it. Its access key is the first one that is active; without one it is empty. */
async function accountOf({ calls }: CompatContext, token: string, { user }: Pick<Me, 'user'>) {
  const { api } = calls.as({ kind: 'token', token })
  const { items } = await api.listKeypairs({ query: { owner: user.id, limit: 100 } })
  const keypair = items.find(({ active }) => active)
  return { access_key: keypair?.accessKey ?? '', role: ROLES[user.role], status: user.active ? 'active' : 'inactive' }
}

function setCookie({ request, reply }: CompatContext, token: string, maxAge?: number): void {
  const secure = originOf(request.raw).https ? '; Secure' : ''
  const age = maxAge === undefined ? '' : `; Max-Age=${maxAge}`
  void reply.header('set-cookie', `${WEB_COOKIE}=${token}; Path=/; HttpOnly; SameSite=Strict${secure}${age}`)
}
