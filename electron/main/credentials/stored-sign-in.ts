/** A sign-in of the desktop app, as the credential store keeps it. */
export interface StoredSignIn {
  readonly token: string
  /** User id of the Berth that runs on this computer, if that is neither this user nor root: see `#proxy/listener-user`. */
  readonly listener: number | undefined
}

/** @returns the token, and after a space the user id if there is one */
export const packSignIn = ({ token, listener }: StoredSignIn): string =>
  listener === undefined ? token : `${token} ${listener}`

export function unpackSignIn(stored: string): StoredSignIn {
  const [token = '', listener] = stored.split(' ')
  return { token, listener: listener === undefined ? undefined : Number(listener) }
}
