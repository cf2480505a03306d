import { type UserId } from '#manager/contract'

export interface SignInChannel extends Disposable {
  /** Tells other tabs that this person signed in here: from now on the cookie of all tabs belongs to this person. */
  announce(signIn: NewSignIn): void
  /** Tells other tabs that somebody signed out on this page, on purpose. */
  announceSignOut(): void
}

export interface NewSignIn {
  readonly userId: UserId
  /** Included because storage, which also holds it, may reach other tabs later than this message. */
  readonly originSecret: string
}

export interface SignInListener {
  readonly onSignIn: (signIn: NewSignIn) => void
  readonly onSignOut: () => void
}

/** Opens the channel between the tabs of one browser profile and origin. It stays open for the lifetime of the page. */
export function openSignInChannel({ onSignIn, onSignOut }: SignInListener): SignInChannel {
  const channel = new BroadcastChannel('berth-sign-in')
  channel.addEventListener('message', ({ data }: MessageEvent<NewSignIn | null>) => {
    if (data === null) onSignOut()
    else onSignIn(data)
  })
  return {
    announce: signIn => {
      channel.postMessage(signIn)
    },
    announceSignOut: () => {
      channel.postMessage(null)
    },
    [Symbol.dispose]: () => {
      channel.close()
    },
  }
}
