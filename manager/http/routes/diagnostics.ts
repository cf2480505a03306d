import { pipeline } from 'node:stream/promises'
import { type Diagnostics } from '../../diagnostics/diagnostics.ts'
import { type Caller } from '../../users/authorize.ts'
import { type LongRequests } from '../../users/long-requests.ts'
import { type Handlers } from '../handlers.ts'
import { SECURITY_HEADERS } from '../security-headers.ts'

type DiagnosticsRoutes = 'diagnoseManager' | 'diagnoseAgent' | 'downloadDiagnostics'

export function createDiagnosticsRoutes(
  diagnostics: Diagnostics,
  { longRequests, check }: { readonly longRequests: LongRequests; readonly check: (caller: Caller) => Promise<void> },
): Pick<Handlers, DiagnosticsRoutes> {
  return {
    diagnoseManager: ({ signal }, { params }) => diagnostics.manager(params.id, signal),
    diagnoseAgent: (_context, { params }) => diagnostics.agent(params.id),

    async downloadDiagnostics({ caller, request, reply, signal }, { query }) {
      const bundle = await diagnostics.bundle(query, signal)
      reply.hijack()
      reply.raw.writeHead(200, {
        ...SECURITY_HEADERS,
        'content-type': 'application/gzip',
        'content-disposition': 'attachment; filename="berth-diagnostics.tar.gz"',
        'x-request-id': request.id,
      })
      using _watched = longRequests.watch(
        caller,
        () => check(caller),
        () => reply.raw.destroy(),
      )
      // The client disconnected, or sees that the file is cut off.
      await pipeline(bundle, reply.raw).catch(() => undefined)
      return ''
    },
  }
}
