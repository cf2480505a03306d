import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type AuditLog } from '../../audit/audit-log.ts'
import { type Handlers } from '../handlers.ts'
import { SECURITY_HEADERS } from '../security-headers.ts'

export function createAuditRoutes(log: AuditLog): Pick<Handlers, 'listAuditLog' | 'exportAuditLog'> {
  return {
    listAuditLog: ({ caller }, { query }) => log.list(caller, query),

    /** Streams the log while it is read, so that its length does not matter; a failure in between cuts the connection. */
    async exportAuditLog({ caller, request, reply }, { query }) {
      const pieces = log.export(caller, query)
      // Read the first piece before sending the headers, so that a failure up to here gets a normal error answer.
      const first = await pieces.next()
      reply.hijack()
      reply.raw.writeHead(200, {
        ...SECURITY_HEADERS,
        'content-type': query.format === 'csv' ? 'text/csv; charset=utf-8' : 'application/jsonl; charset=utf-8',
        'content-disposition': `attachment; filename="berth-audit-log.${query.format}"`,
        'x-request-id': request.id,
      })
      const rest = async function* () {
        if (!first.done) yield first.value
        yield* pieces
      }
      // The client disconnected, or sees that the file is cut off.
      await pipeline(Readable.from(rest()), reply.raw).catch(() => undefined)
      return ''
    },
  }
}
