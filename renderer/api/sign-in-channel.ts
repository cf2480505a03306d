import { type UserId } from '#manager/contract'

export interface SignInChannel extends Disposable {
  /** This person signed in on this page: the cookie of all tabs is theirs from now on. */
  announce(signIn: NewSignIn): void
  /** Somebody signed out on this page, on purpose. */
  announceSignOut(): void
}

export interface NewSignIn {
  readonly userId: UserId
  /** Here as well as in the storage, which may reach other tabs later. */
  readonly originSecret: string
}

export interface SignInListener {
  readonly onSignIn: (signIn: NewSignIn) => void
  readonly onSignOut: () => void
}

/** Between the tabs of one browser profile and origin, from the beginning of the page to its end. */
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
