import { AppError, because, type UserId } from '#manager/contract'
import { type Store } from '../../store/open-store.ts'
import { withBackOff } from '../../users/back-off.ts'
import { type ProvedAttempt, type SsoAttempts } from '../attempts.ts'
import { type SignInProviders } from '../providers.ts'
import { type DirectoryClient, type DirectoryCredentials } from './client.ts'
import { personOfDirectory } from './entry.ts'

export interface DirectoryProof extends DirectoryCredentials {
  readonly provider: string
  readonly address: string
  /** The account to which the person wants to link; undefined for a sign-in. */
  readonly linkTo?: UserId | undefined
}

/**
 * First half of a sign-in at a directory: name and password are checked there, and the second half goes on as after a visit to a provider of
 * OpenID Connect. So the second factor is asked for without the password, which is sent once.
 *
 * Threat model: everybody may guess here. Guesses are slowed down as those at passwords of Berth, by name and by network, so they do not
 * reach the limit at which a directory locks the person out. A name may be written in many ways (case, spaces, accents,
 * characters that show nothing), of which a directory may take many for the same: it is counted without them.
 * An unknown name and a wrong password get the same answer.
 */
export interface DirectoryAttempts {
  /** @throws AppError `sso_login_failed`, `login_throttled`, `sign_in_provider_not_found`, `bad_request`, as `DirectoryClient.prove` */
  prove(proof: DirectoryProof): Promise<ProvedAttempt>
}

export interface DirectoryAttemptsDeps {
  readonly store: Store
  readonly client: Pick<DirectoryClient, 'prove'>
  readonly providers: Pick<SignInProviders, 'open'>
  readonly attempts: Pick<SsoAttempts, 'proved'>
}

export function createDirectoryAttempts({
  store,
  client,
  providers,
  attempts,
}: DirectoryAttemptsDeps): DirectoryAttempts {
  return {
    async prove({ provider, username, password, address, linkTo }) {
      const { directory } = await providers.open(provider)
      if (!directory) throw new AppError('bad_request', because('use_browser'))
      let proved: Awaited<ReturnType<typeof client.prove>>
      await withBackOff(store, { email: countedAs(provider, username), address }, async () => {
        proved = await client.prove(directory, { username, password })
        return proved !== undefined
      })
      if (!proved) throw new AppError('sso_login_failed', because('login_check_both'))
      return attempts.proved({ provider, person: personOfDirectory(proved, directory.settings), address, linkTo })
    },
  }
}

const countedAs = (provider: string, username: string) =>
  `directory:${provider}:${username.normalize('NFKD').replaceAll(/[\s\p{M}\p{Cf}\p{Cc}\u1806]/gu, '')}`
