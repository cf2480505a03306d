import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { type FastifyReply, type FastifyRequest } from 'fastify'
import { codingsOf, namesEtag } from '#base/http-fields'

/** A constant text, in the forms in which it is sent. */
export interface Prepared {
  readonly plain: Buffer
  readonly gzip: Buffer
  readonly tag: string
}

export function prepare(text: string): Prepared {
  const plain = Buffer.from(text)
  return { plain, gzip: gzipSync(plain), tag: createHash('sha256').update(plain).digest('base64url').slice(0, 22) }
}

/** Sends a prepared text, compressed if the client accepts that, or the status that the client has the text already. */
export function sendPrepared({ headers }: FastifyRequest, reply: FastifyReply, { plain, gzip, tag }: Prepared) {
  const isSmall = codingsOf(headers['accept-encoding']).has('gzip')
  const etag = isSmall ? `"${tag}-gzip"` : `"${tag}"`
  void reply.headers({ etag, vary: 'Accept-Encoding', 'cache-control': 'no-cache' })
  if (namesEtag(headers['if-none-match'], etag)) return reply.code(304).send()
  return isSmall ? reply.header('content-encoding', 'gzip').send(gzip) : reply.send(plain)
}
