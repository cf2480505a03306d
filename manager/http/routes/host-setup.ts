import { createReadStream } from 'node:fs'
import { type IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { type FastifyReply, type FastifyRequest } from 'fastify'
import { AppError, because, ERRORS, whyOf } from '#manager/contract'
import { refusalScript } from '../../agents/host-line.ts'
import { type HostSetup } from '../../agents/host-setup.ts'
import { type Handlers } from '../handlers.ts'
import { toAppError } from '../problems.ts'
import { SECURITY_HEADERS } from '../security-headers.ts'

/** Downloads of a computer that becomes a host. The token of its join string is the credential. */
export function createHostSetupRoutes(setup: HostSetup): Pick<Handlers, 'readHostScript' | 'readHostBundle'> {
  return {
    async readHostScript({ request, reply }) {
      try {
        const script = await setup.script(tokenOf(request.raw))
        answer(request, reply, 200, SCRIPT).end(script)
      } catch (error) {
        // The reader is a shell: it says why, and ends. curl would keep an answer with another status from it.
        const known = toAppError(error)
        if (known.code === 'internal') throw error
        const { title } = ERRORS[known.code]
        const script = refusalScript([`${title}.`, whyOf(known)].filter(Boolean).join(' '))
        answer(request, reply, 200, SCRIPT).end(script)
      }
      return ''
    },

    async readHostBundle({ request, reply }, { params }) {
      using bundle = await setup.bundle(tokenOf(request.raw), params.sha256)
      const head = { 'content-type': 'application/gzip', 'content-length': String(bundle.bytes) }
      const raw = answer(request, reply, 200, head)
      if (request.method === 'HEAD') raw.end()
      // A reader that goes away ends the sending, and has its answer cut off.
      else await pipeline(createReadStream(bundle.path), raw).catch(() => raw.destroy())
      return ''
    },
  }
}

const SCRIPT = { 'content-type': 'text/x-shellscript; charset=utf-8' }

/** @throws AppError `join_token_invalid` */
function tokenOf({ headers }: IncomingMessage): string {
  const token = /^Bearer ([\w-]{43})$/i.exec(headers.authorization ?? '')?.[1]
  if (token === undefined) throw new AppError('join_token_invalid', because('host_line_over'))
  return token
}

type Headers = Readonly<Record<string, string>>

function answer(request: FastifyRequest, reply: FastifyReply, status: number, headers: Headers) {
  reply.hijack()
  return reply.raw.writeHead(status, {
    ...SECURITY_HEADERS,
    ...headers,
    'x-request-id': request.id,
  })
}
