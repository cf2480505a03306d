import { AppError, GRANT_HEADER } from '#manager/contract'
import { type Grants } from '../../grants/grants.ts'
import { type Handlers } from '../handlers.ts'

export function createGrantRoutes({
  grants,
}: {
  grants: Grants
}): Pick<Handlers, 'startApp' | 'createGrant' | 'grantToProgram' | 'renewGrant'> {
  return {
    startApp: ({ caller, signal }, { params, body }) => grants.startApp(caller, params, { options: body, signal }),
    async createGrant({ caller, reply, signal }, { params }) {
      void reply.header('cache-control', 'no-store')
      return grants.create(caller, params.id, params.app, signal)
    },
    async grantToProgram({ caller, reply, signal }, { params }) {
      void reply.header('cache-control', 'no-store')
      return grants.createForProgram(caller, params.id, params.app, signal)
    },
    async renewGrant({ request, reply }) {
      void reply.header('cache-control', 'no-store')
      const grant = request.headers[GRANT_HEADER]
      if (typeof grant !== 'string') throw new AppError('grant_invalid', { why: `Send it as ${GRANT_HEADER}.` })
      return grants.renew(grant)
    },
  }
}
