import { defined } from '#base/defined'
import { type ApiClient, type RouteReply } from '#manager/contract'

type Requests = Pick<ApiClient, 'login' | 'loginWithKeypair' | 'loginWithTicket'>

/** Requests of a new sign-in. @param signedIn called with the answer */
export function waysToSignIn(api: Requests, signedIn: (reply: RouteReply<'login'>) => void) {
  /**
   * @param more `totp`: after `totp_required`, a code of the authenticator app or a recovery code; `newPassword`: after
   *   `password_change_required`
   */
  async function signIn(
    email: string,
    password: string,
    more: { readonly totp?: string; readonly newPassword?: string } = {},
  ): Promise<void> {
    signedIn(await api.login({ body: { email: email.trim(), password, ...more } }))
  }

  /** @param totp after `totp_required`: a code of the authenticator app or a recovery code */
  async function signInWithKeypair(accessKey: string, secretKey: string, totp?: string): Promise<void> {
    signedIn(await api.loginWithKeypair({ body: { accessKey, secretKey, ...defined({ totp }) } }))
  }

  async function signInWithTicket(ticket: string): Promise<void> {
    signedIn(await api.loginWithTicket({ body: { ticket } }))
  }

  return { signIn, signInWithTicket, signInWithKeypair }
}
