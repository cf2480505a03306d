import { z } from 'zod'
import { networksOf } from '#base/network-of'
import {
  AppError,
  because,
  codeFor,
  type ErrorCode,
  ERRORS,
  isAppError,
  type SsoReturn,
  SsoReturn as SsoReturnSchema,
  UserId,
} from '#manager/contract'
import { type Log } from '../log.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import {
  deleteAttempt,
  findAttempt,
  insertAttempt,
  sealOutcome,
  takeState,
} from '../store/identity/sign-in-attempts.ts'
import { type Store } from '../store/open-store.ts'
import { hashToken, newToken, newWord } from '../users/secrets.ts'
import { type Person, personOf } from './person.ts'
import { type ProviderClient } from './provider-client.ts'
import { type SignInProviders } from './providers.ts'

const ATTEMPT_SECONDS = 10 * 60
/** Largest number of open attempts of one network; a further one replaces the oldest. */
const MOST_OPEN = 500
export const CALLBACK_PATH = '/api/v1/auth/sso/callback'

export interface AttemptStart {
  readonly provider: string
  readonly return: SsoReturn
  /** Address of the console, without a slash at the end. */
  readonly consoleUrl: string
  readonly address: string
  /** The account to which the person wants to link; undefined for a sign-in. An attempt for one purpose cannot be used for the other. */
  readonly linkTo?: UserId | undefined
}

export interface StartedAttempt {
  /** Address of the provider. */
  readonly url: string
  readonly secret: string
  /** Word shown both by the program that began and by the page that asks whether it may have the code. */
  readonly word: string
  readonly consoleUrl: string
  readonly expiresAt: string
}

/** Proof of a client that it began an attempt, with the code that the browser brought back. */
export interface AttemptProof {
  readonly secret: string
  readonly code: string
}

export interface ReadAttempt {
  readonly stateHash: Buffer
  /** Id of the provider. */
  readonly provider: string
  readonly person: Person
}

/** An attempt whose person has proved who they are without a browser. */
export interface ProvedAttempt extends AttemptProof {
  readonly expiresAt: string
}

/** Visits to a provider: begun by a client, continued by the callback, and read by the client that began. */
export interface SsoAttempts {
  /** @throws AppError `sign_in_provider_not_found`, `bad_request` for a directory, as `ProviderClient.begin` */
  start(request: AttemptStart): Promise<StartedAttempt>
  /** Makes an attempt that needs no visit, for a person whose password a directory has checked. @returns the client's proof of it */
  proved(
    request: Pick<AttemptStart, 'provider' | 'address' | 'linkTo'> & { readonly person: Person },
  ): Promise<ProvedAttempt>
  /** Handles the browser's return. @returns where to send it; never fails because of the provider, whose error `read` reports */
  callback(query: URLSearchParams): Promise<string>
  /**
   * The person whom the provider named. The attempt is kept until `deleteAttempt`, unless it was refused.
   *
   * @throws AppError `sso_expired`, also for an attempt of another purpose, and the error of the provider
   */
  read(proof: AttemptProof, linkTo?: UserId): Promise<ReadAttempt>
}

export interface SsoAttemptsDeps {
  readonly store: Store
  readonly box: SecretBox
  readonly client: ProviderClient
  readonly providers: Pick<SignInProviders, 'open'>
  readonly log: Log
}

const LinkTo = { linkTo: UserId.optional() }
const Begun = z.object({
  ...LinkTo,
  return: SsoReturnSchema,
  word: z.string(),
  challenge: z.object({ nonce: z.string(), verifier: z.string(), redirectUri: z.string() }),
})
const Outcome = z.union([
  z.object({ ...LinkTo, person: z.custom<Person>(value => typeof value === 'object' && value !== null) }),
  z.object({ ...LinkTo, refused: z.object({ code: z.string(), detail: z.record(z.string(), z.unknown()) }) }),
])
type Outcome = z.infer<typeof Outcome>

const placeOf = (stateHash: Buffer) => `sign-in-attempt:${stateHash.toString('base64url')}`
export const startAgain = () => new AppError('sso_expired', because('sso_start_again'))

const openBy = (address: string) => ({
  lifetimeSeconds: ATTEMPT_SECONDS,
  network: networksOf(address).at(-1) ?? '',
  most: MOST_OPEN,
})

export function createSsoAttempts({ store, box, client, providers, log }: SsoAttemptsDeps): SsoAttempts {
  const { db } = store
  const seal = (stateHash: Buffer, value: unknown) => box.seal(JSON.stringify(value), placeOf(stateHash))
  const unseal = (stateHash: Buffer, sealed: string): unknown => JSON.parse(box.open(sealed, placeOf(stateHash)))

  async function learn(provider: string, challenge: z.infer<typeof Begun>['challenge'], query: URLSearchParams) {
    try {
      const { access, settings } = await providers.open(provider)
      if (!access) throw startAgain()
      const claims = await client.finish(access, { challenge, query })
      return { person: personOf(claims, settings) }
    } catch (error) {
      if (!isAppError(error)) throw error
      log.warn({ err: error, provider }, 'a sign-in at a provider failed')
      return { refused: { code: error.code, detail: error.detail } }
    }
  }

  return {
    async start({ provider, return: to, consoleUrl, address, linkTo }) {
      const { access } = await providers.open(provider)
      if (!access) throw new AppError('bad_request', because('use_name_and_password'))
      const { url, state, challenge } = await client.begin(access, consoleUrl + CALLBACK_PATH)
      const [secret, word, stateHash] = [newToken(), newWord(), hashToken(state)]
      const expiresAt = await insertAttempt(db, {
        ...openBy(address),
        stateHash,
        secretHash: hashToken(secret),
        provider,
        sealed: seal(stateHash, { return: to, word, challenge, linkTo } satisfies z.infer<typeof Begun>),
      })
      return { url, secret, word, consoleUrl, expiresAt: expiresAt.toISOString() }
    },

    async proved({ provider, person, address, linkTo }) {
      const [secret, code, stateHash] = [newToken(), newToken(), hashToken(newToken())]
      const expiresAt = await insertAttempt(db, {
        ...openBy(address),
        stateHash,
        secretHash: hashToken(secret),
        codeHash: hashToken(code),
        provider,
        sealed: seal(stateHash, { person, linkTo } satisfies Outcome),
      })
      return { secret, code, expiresAt: expiresAt.toISOString() }
    },

    async callback(query) {
      const code = newToken()
      const stateHash = hashToken(query.get('state') ?? '')
      const attempt = await takeState(db, stateHash, hashToken(code))
      // Unknown, expired or used before: the client gets the error when it finishes with this code.
      if (!attempt) return addressFor({ return: { to: 'page' }, word: '' }, code, {})
      const begun = Begun.parse(unseal(stateHash, attempt.sealed))
      const { linkTo } = begun
      const outcome: Outcome = { ...(await learn(attempt.provider, begun.challenge, query)), linkTo }
      const codeHash = hashToken(await finishingCode(code, begun.return))
      await sealOutcome(db, stateHash, { sealed: seal(stateHash, outcome), codeHash })
      return addressFor(begun, code, outcome)
    },

    async read({ secret, code }, linkTo) {
      const attempt = await findAttempt(db, { codeHash: hashToken(code), secretHash: hashToken(secret) })
      if (!attempt) throw startAgain()
      const { state_hash: stateHash, provider } = attempt
      // If a callback was interrupted, the attempt still has its initial state.
      const outcome = Outcome.safeParse(unseal(stateHash, attempt.sealed)).data
      if (!outcome || outcome.linkTo !== linkTo) throw startAgain()
      if ('person' in outcome) return { stateHash, provider, person: outcome.person }
      await deleteAttempt(db, stateHash)
      throw refusalOf(outcome.refused)
    },
  }
}

/** The text with which the client finishes. The place was compared with our own names when the attempt began. */
const finishingCode = async (code: string, to: SsoReturn): Promise<string> =>
  to.to === 'page' || to.at === undefined ? code : codeFor(code, to.at)

/**
 * Leads only to our own pages, relative to the address of the callback, or to the browser's own computer.
 *
 * Threat model of the loopback port: another user of the computer may listen there, who began the attempt, has its secret, and sent the
 * provider's address to the victim, whom the provider signs in without asking. So a code for entering an account goes to a page that shows
 * the account and the word of the attempt, and passes the code on only after a click. A refusal has no such code, and is passed on at once.
 */
function addressFor(
  { return: to, word }: Pick<z.infer<typeof Begun>, 'return' | 'word'>,
  code: string,
  outcome: Partial<Outcome>,
): string {
  const { linkTo } = outcome
  const codePage = (more: Record<string, string>) =>
    `/#/sign-in-code?${new URLSearchParams({ code, ...more, ...(linkTo === undefined ? {} : { for: 'link' }) }).toString()}`
  switch (to.to) {
    case 'page':
      return linkTo === undefined ? `/#/sign-in?sso=${code}` : `/#/account?sso=${code}`
    case 'code':
      return codePage({})
    case 'loopback': {
      const person = 'person' in outcome ? outcome.person : undefined
      if (!person) return `http://127.0.0.1:${to.port}/?code=${code}`
      const name = person.email ?? person.name ?? person.subject
      return codePage({ port: String(to.port), word, name })
    }
  }
}

function refusalOf({ code, detail }: { code: string; detail: Record<string, unknown> }): AppError {
  const known = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'sso_provider_wrong'
  return new AppError(known, detail)
}
