import { type Role, type TokenScope } from '#manager/contract'

/** Credentials that a request came with. A sign-in that was made with a keypair names both. */
export interface Credentials {
  readonly loginId: string | null
  readonly keypair: string | null
}

/**
 * The credential whose end closes everything that a request opened. The sign-in comes first: a sign-in made with a keypair is deleted with
 * that keypair, and signing out must also end everything that the sign-in opened.
 */
export function credentialOf({ loginId, keypair }: Credentials): string {
  const credential = loginId ?? keypair
  if (credential === null) throw new Error('a caller has a sign-in or a keypair')
  return credential
}

/** `credentialOf` as columns of a row; the constraint `…_credential` of such a table demands exactly one. */
export function credentialColumns({ loginId, keypair }: Credentials) {
  return { login_id: loginId, keypair: loginId === null ? keypair : null }
}

/** An access token never administers: it acts for its owner's own things, whatever the owner may besides. */
export const roleWith = (role: Role, scopes: readonly TokenScope[] | null): Role => (scopes === null ? role : 'user')
