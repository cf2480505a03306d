import { type IncomingMessage } from 'node:http'
import { type ScimTokens } from '../../scim/tokens.ts'
import { type Settings } from '../../settings/settings.ts'
import { type Handlers } from '../handlers.ts'
import { SCIM_PATH } from './scim.ts'

export type ScimTokenHandlers = Pick<Handlers, 'listScimTokens' | 'createScimToken' | 'deleteScimToken'>

export interface ScimTokenRouteDeps {
  readonly tokens: ScimTokens
  readonly settings: Pick<Settings, 'read'>
  /** Address of the console, used if the settings name none. */
  readonly consoleAddress: (request: IncomingMessage) => string
}

export function createScimTokenRoutes({ tokens, settings, consoleAddress }: ScimTokenRouteDeps): ScimTokenHandlers {
  return {
    listScimTokens: async ({ caller, request }) => ({
      items: await tokens.list(caller),
      baseUrl: ((await settings.read()).publicUrl ?? consoleAddress(request.raw)) + SCIM_PATH,
    }),
    createScimToken: ({ caller }, { body }) => tokens.create(caller, body),
    deleteScimToken: ({ caller }, { params }) => tokens.remove(caller, params.id),
  }
}
