import { type IncomingMessage } from 'node:http'
import { type FastifyRequest } from 'fastify'
import { type UserRow } from '../../store/identity/users.ts'
import { type Invitations } from '../../users/invitations.ts'
import { type PasswordResets } from '../../users/password-reset.ts'
import { type SecondFactor } from '../../users/second-factor.ts'
import { type SignUpRequests } from '../../users/sign-up-requests.ts'
import { type SignUps } from '../../users/sign-up.ts'
import { type Handlers } from '../handlers.ts'
import { clientAddress } from '../origin.ts'

export type AccountHandlers = Pick<
  Handlers,
  | 'signUp'
  | 'requestSignUp'
  | 'confirmSignUpRequest'
  | 'listSignUpRequests'
  | 'acceptSignUpRequest'
  | 'declineSignUpRequest'
  | 'requestVerification'
  | 'verifyEmail'
  | 'requestPasswordReset'
  | 'resetPassword'
  | 'createAccountLink'
  | 'listInvitations'
  | 'createInvitation'
  | 'revokeInvitation'
  | 'totpStatus'
  | 'enrolTotp'
  | 'confirmTotp'
  | 'renewRecoveryCodes'
  | 'disableTotp'
  | 'resetTotp'
>

export interface AccountRoutesDeps {
  readonly signUps: SignUps
  readonly signUpRequests: SignUpRequests
  readonly passwordResets: PasswordResets
  readonly invitations: Invitations
  readonly secondFactor: SecondFactor
  /** Address of the console for links, used if the settings name none. */
  readonly consoleAddress: (request: IncomingMessage) => string
}

export function createAccountRoutes(deps: AccountRoutesDeps): AccountHandlers {
  const { signUps, signUpRequests, passwordResets, invitations, secondFactor, consoleAddress } = deps
  return {
    signUp: ({ request }, { body }) => signUps.signUp(body, addressOf(request)),
    requestSignUp: ({ request }, { body }) => signUpRequests.request(body, addressOf(request)),
    confirmSignUpRequest: ({ request }, { body }) => signUpRequests.confirm({ ...body, address: addressOf(request) }),
    listSignUpRequests: ({ caller }, { query }) => signUpRequests.list(caller, query),
    async acceptSignUpRequest({ caller, request }, { params, body }) {
      const accepted = await signUpRequests.accept(caller, params.id, body, consoleAddress(request.raw))
      tellAddress(request, accepted.user.email)
      return accepted
    },
    async declineSignUpRequest({ caller, request }, { params, body }) {
      const { email, mailed } = await signUpRequests.decline(caller, params.id, body.reason)
      tellAddress(request, email)
      return { mailed }
    },
    async requestVerification({ request }, { body }) {
      await signUps.requestVerification({ ...body, address: addressOf(request) })
      return {}
    },
    async verifyEmail({ request }, { body }) {
      const account = await signUps.verify({ ...body, address: addressOf(request) })
      tellOwner(request, account)
      return { email: account.email }
    },

    async requestPasswordReset({ request }, { body }) {
      await passwordResets.request({ ...body, address: addressOf(request) })
      return {}
    },
    async resetPassword({ request }, { body }) {
      tellOwner(request, await passwordResets.reset(body))
    },
    createAccountLink: ({ caller, request }, { params, body }) =>
      passwordResets.createLink(caller, {
        userId: params.id,
        ...body,
        origin: consoleAddress(request.raw),
      }),

    listInvitations: ({ caller }, { query }) => invitations.list(caller, query),
    createInvitation: ({ caller, request }, { body }) => invitations.create(caller, body, consoleAddress(request.raw)),
    revokeInvitation: ({ caller }, { params }) => invitations.revoke(caller, params.id),

    totpStatus: ({ caller }) => secondFactor.status(caller),
    enrolTotp: ({ caller }, { body }) => secondFactor.enrol(caller, body),
    confirmTotp: ({ caller }, { body }) => secondFactor.confirm(caller, body),
    renewRecoveryCodes: ({ caller }, { body }) => secondFactor.renewRecoveryCodes(caller, body),
    disableTotp: ({ caller }, { body }) => secondFactor.disable(caller, body),
    resetTotp: ({ caller }, { params }) => secondFactor.reset(caller, params.id),
  }
}

const addressOf = (request: FastifyRequest) => clientAddress(request.raw)

/** Adds the owner of the account to the audit entry, because the request itself names nobody. */
function tellOwner(request: FastifyRequest, { email, role, domain }: UserRow): void {
  request.outcome = { ...request.outcome, owner: { email, role, domain } }
}

/** Adds the address of the decided request to the audit entry, because the row of the request is deleted. */
function tellAddress(request: FastifyRequest, email: string): void {
  request.outcome = { ...request.outcome, told: { email } }
}
