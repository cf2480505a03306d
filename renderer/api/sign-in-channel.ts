import { type UserId } from '#manager/contract'

export interface SignInChannel extends Disposable {
  /** Somebody signed in on this page: from now on the cookie of all tabs is theirs. */
  announce(userId: UserId): void
}

/** Between the tabs of one browser profile and origin, from the beginning of the page to its end. */
export function openSignInChannel(onSignIn: (userId: UserId) => void): SignInChannel {
  const channel = new BroadcastChannel('berth-sign-in')
  channel.addEventListener('message', ({ data }: MessageEvent<UserId>) => {
    onSignIn(data)
  })
  return {
    announce: userId => {
      channel.postMessage(userId)
    },
    [Symbol.dispose]: () => {
      channel.close()
    },
  }
}
