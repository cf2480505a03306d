import { defineStore } from 'pinia'
import { computed, onScopeDispose, ref, watch } from 'vue'
import { isAppError, type Me, type RouteReply, type UserId } from '#manager/contract'
import { secretHeaders } from '../../api/origin-secret.ts'
import { openSignInChannel } from '../../api/sign-in-channel.ts'
import { useServices } from '../../services.ts'

/** `unknown` until the first answer; `expired` keeps the page and asks for the password again. */
export type AccountState = 'unknown' | 'signed_out' | 'signed_in' | 'expired'

/** Who is signed in on this page. */
export const useAccount = defineStore('account', () => {
  const { api, events, localProof, secret } = useServices()
  const state = ref<AccountState>('unknown')
  const startError = ref<unknown>(null)
  const me = ref<Me | null>(null)
  const user = computed(() => me.value?.user ?? null)
  const isSuperadmin = computed(() => user.value?.role === 'superadmin')
  /** Sees sessions of other people: all of them, or those of one domain. */
  const isAdmin = computed(() => isSuperadmin.value || user.value?.role === 'domain_admin')
  const owns = ({ ownerId }: { readonly ownerId: UserId }) => ownerId === user.value?.id

  /** Whose data this page has in memory, also after signing out. */
  let holder: UserId | undefined
  const belongsTo = (id: UserId) => holder === undefined || holder === id

  /**
   * Takes this for the sign-in of the page, unless it is another person's: the cookie is that of the whole browser. Then the
   * page begins anew, for nothing of the first may stay in memory, nor be done as the other.
   * @param originSecret of the same sign-in
   * @returns false if the page begins anew
   */
  function adopt(next: Me, originSecret: string): boolean {
    if (!belongsTo(next.user.id)) {
      globalThis.location.reload()
      return false
    }
    holder = next.user.id
    me.value = next
    secret.use(originSecret)
    const before = state.value
    state.value = 'signed_in'
    if (before === 'expired') events.reconnect()
    else events.start()
    return true
  }

  /**
   * Tabs of the same person go on with the new sign-in, and so do tabs on which nobody was signed in. All others begin anew, also
   * at a sign-out on purpose: nothing of the person before stays in their memory.
   */
  const isOpen = () => state.value === 'signed_in' || state.value === 'expired'
  const channel = openSignInChannel({
    onSignIn({ userId, originSecret }) {
      if (!belongsTo(userId)) globalThis.location.reload()
      // A page that is still starting asks by itself who is signed in.
      else if (state.value !== 'unknown') void restore(originSecret).catch(() => undefined)
    },
    onSignOut() {
      if (isOpen()) globalThis.location.reload()
    },
  })
  onScopeDispose(() => channel[Symbol.dispose]())
  function signedIn({ originSecret, ...next }: RouteReply<'login'>): void {
    const signIn = { userId: next.user.id, originSecret: originSecret ?? '' }
    secret.store(signIn.originSecret)
    channel.announce(signIn)
    adopt(next, signIn.originSecret)
  }

  /** Asks the manager who we are. @throws what is not an answer, e.g. `unavailable` */
  async function restore(newest = secret.stored()): Promise<void> {
    try {
      adopt(await api.me({ headers: secretHeaders(newest) }), newest)
    } catch (error) {
      if (!isAppError(error) || error.code !== 'not_signed_in') throw error
      if (state.value === 'unknown') state.value = 'signed_out'
    }
  }

  /** The first `restore` of the page; a failure is shown instead of the page, with a way to try again. */
  async function begin(): Promise<void> {
    startError.value = null
    await restore().catch((error: unknown) => {
      startError.value = error
    })
  }

  /** @param totp after `totp_required`: a code of the authenticator app, or a recovery code */
  async function signIn(email: string, password: string, totp?: string): Promise<void> {
    signedIn(await api.login({ body: { email: email.trim(), password, ...(totp === undefined ? {} : { totp }) } }))
  }

  async function signInWithTicket(ticket: string): Promise<void> {
    signedIn(await api.loginWithTicket({ body: { ticket } }))
  }

  /** Ends the sign-in on the server; a server that is gone does not keep anyone on the page. */
  async function signOut(): Promise<void> {
    await api.logout().catch(() => undefined)
    events.stop()
    secret.forget()
    channel.announceSignOut()
    me.value = null
    state.value = 'signed_out'
  }

  /** The server no longer knows this sign-in. Called for every `not_signed_in`, wherever it came from. */
  function expire(): void {
    if (state.value === 'signed_in') state.value = 'expired'
  }

  /** @param code of a link that `berth up` printed: this browser runs on its computer. @returns whether it counts */
  function proveLocal(code: string): Promise<boolean> {
    return localProof.prove(code)
  }

  async function changePassword(oldPassword: string, newPassword: string): Promise<void> {
    await api.changePassword({ body: { oldPassword, newPassword } })
  }

  // Another tab may notice first that the sign-in ended, and may be the one where it is renewed.
  watch(events.connection, ({ state: connection }) => {
    if (connection === 'signed_out') expire()
    if (connection === 'live' && state.value === 'expired') void restore().catch(() => undefined)
  })

  return {
    state,
    me,
    user,
    isSuperadmin,
    isAdmin,
    owns,
    startError,
    adopt,
    begin,
    signIn,
    signInWithTicket,
    signOut,
    expire,
    proveLocal,
    changePassword,
  }
})
