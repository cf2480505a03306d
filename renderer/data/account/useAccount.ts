import { defineStore } from 'pinia'
import { computed, onScopeDispose, ref, watch } from 'vue'
import { isAppError, type Me, type RouteReply, type Session, type UserId } from '#manager/contract'
import { secretHeaders } from '../../api/origin-secret.ts'
import { openSignInChannel } from '../../api/sign-in-channel.ts'
import { useServices } from '../../services.ts'
import { waysToSignIn } from './ways-to-sign-in.ts'

/** `unknown` until the first answer of the manager; `expired` keeps the page and asks for the password again. */
export type AccountState = 'unknown' | 'signed_out' | 'signed_in' | 'expired'

/** The person who is signed in on this page. */
export const useAccount = defineStore('account', () => {
  const { api, events, localProof, secret } = useServices()
  const state = ref<AccountState>('unknown')
  const startError = ref<unknown>(null)
  const me = ref<Me | null>(null)
  const user = computed(() => me.value?.user ?? null)
  const isSuperadmin = computed(() => user.value?.role === 'superadmin')
  /** True for people who see sessions of others: all sessions (superadmin), or those of one domain. */
  const isAdmin = computed(() => isSuperadmin.value || user.value?.role === 'domain_admin')
  const owns = ({ ownerId }: { readonly ownerId: UserId }) => ownerId === user.value?.id
  /** May this person open apps, terminals and SSH of a session: their own, or one that is shared for use? */
  const enters = (session: Pick<Session, 'ownerId' | 'sharedAs'>) => owns(session) || session.sharedAs === 'use'

  /** The person whose data this page holds in memory, also after signing out. */
  let holder: UserId | undefined
  const belongsTo = (id: UserId) => holder === undefined || holder === id

  /**
   * Adopts a sign-in for this page, unless it belongs to another person: the cookie is shared by the whole browser. For another person the
   * page reloads, so that no data of the first person stays in memory, and nothing is done in the other's name.
   * @param originSecret secret of the same sign-in
   * @returns false if the page reloads
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

  const isOpen = () => state.value === 'signed_in' || state.value === 'expired'
  /**
   * Tells the other tabs of this browser about sign-ins and sign-outs. Tabs of the same person, and tabs on which nobody has been signed
   * in, adopt a new sign-in. All other tabs reload, and so do signed-in tabs at a deliberate sign-out, so that no data of the previous
   * person stays in their memory.
   */
  const channel = openSignInChannel({
    onSignIn({ userId, originSecret }) {
      if (!belongsTo(userId)) globalThis.location.reload()
      // A page that is still starting queries the manager itself.
      else if (state.value !== 'unknown') void restore(originSecret).catch(() => undefined)
    },
    onSignOut() {
      if (isOpen()) globalThis.location.reload()
    },
  })
  onScopeDispose(() => channel[Symbol.dispose]())
  /** Adopts a new sign-in of this page, and tells the other tabs. */
  function signedIn({ originSecret, ...next }: RouteReply<'login'>): void {
    const signIn = { userId: next.user.id, originSecret: originSecret ?? '' }
    secret.store(signIn.originSecret)
    channel.announce(signIn)
    adopt(next, signIn.originSecret)
  }

  /** Asks the manager who is signed in. @throws every failure except `not_signed_in`, e.g. `unavailable` */
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
    try {
      await restore()
      startError.value = null
    } catch (error) {
      startError.value = error
    }
  }

  /** Signs out here and on the server. If the server is unreachable, the page is signed out all the same. */
  async function signOut(): Promise<void> {
    await api.logout().catch(() => undefined)
    events.stop()
    secret.forget()
    channel.announceSignOut()
    me.value = null
    state.value = 'signed_out'
  }

  /** Marks the sign-in as expired: the server no longer knows it. Called for every `not_signed_in`, from any request. */
  function expire(): void {
    if (state.value === 'signed_in') state.value = 'expired'
  }

  /** Number of times that `proveLocal` succeeded on this page: answers about its place from before are stale. */
  const localProofs = ref(0)

  /**
   * Proves that this browser runs on the computer of this Berth.
   * @param code from a link that `berth up` printed, or one that `berth local` confirms
   * @returns whether the code is valid
   */
  async function proveLocal(code: string): Promise<boolean> {
    const isProven = await localProof.prove(code)
    if (isProven) localProofs.value++
    return isProven
  }

  async function changePassword(oldPassword: string, newPassword: string): Promise<void> {
    await api.changePassword({ body: { oldPassword, newPassword } })
  }

  // Another tab may notice the expired sign-in first, and the person may renew it there.
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
    enters,
    owns,
    startError,
    adopt,
    begin,
    ...waysToSignIn(api, signedIn),
    signedIn,
    signOut,
    expire,
    localProofs,
    proveLocal,
    changePassword,
  }
})
