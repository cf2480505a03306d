import { type AccessTokens } from '../../users/access-tokens.ts'
import { type Handlers } from '../handlers.ts'
import { clientAddress } from '../origin.ts'

export type AccessTokenHandlers = Pick<Handlers, 'listAccessTokens' | 'createAccessToken' | 'endAccessToken'>

export function createAccessTokenRoutes(tokens: AccessTokens): AccessTokenHandlers {
  return {
    listAccessTokens: ({ caller }) => tokens.list(caller),
    createAccessToken: ({ caller, request }, { body }) => tokens.create(caller, body, clientAddress(request.raw)),
    endAccessToken: ({ caller }, { params }) => tokens.end(caller, params.id),
  }
}
