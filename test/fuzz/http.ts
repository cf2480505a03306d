import { type Agent, request as httpRequest } from 'node:http'
import { ERRORS } from '#manager/contract'
import { type Random } from './random.ts'
import { within } from './target.ts'

export interface Sent {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer | undefined
}

export interface Received {
  readonly status: number
  readonly body: string
}

const MOST_BYTES = 1_000_000

/** Sends one request. @throws for an answer that takes too long, and for a connection that broke without one */
export function send(agent: Agent, port: number, { method, path, headers, body }: Sent): Promise<Received> {
  const what = `${method} ${path}`
  const answered = new Promise<Received>((resolve, reject) => {
    const sent = httpRequest({ agent, host: '127.0.0.1', port, method, path, headers }, response => {
      let text = ''
      response.on('data', (chunk: Buffer) => {
        if (text.length < MOST_BYTES) text += chunk.toString()
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }))
      response.on('error', reject)
    })
    sent.on('error', (error: NodeJS.ErrnoException) => {
      // Idle connections may be closed by the server at any time; the request was not read then.
      if (sent.reusedSocket && error.code === 'ECONNRESET') resolve({ status: 0, body: '' })
      else reject(new Error(`${what}: ${error.message}`))
    })
    sent.end(body)
  })
  return within(what, answered)
}

/** @throws if a 5xx is not one of the documented problems, or is the one for unexpected errors */
export function assertDocumented({ method, path }: Sent, { status, body }: Received): void {
  if (status < 500) return
  let code: unknown
  try {
    code = (JSON.parse(body) as { code?: unknown }).code
  } catch {
    // Not a problem document.
  }
  const isKnown = typeof code === 'string' && Object.hasOwn(ERRORS, code) && code !== 'internal'
  if (!isKnown) throw new Error(`HTTP ${status} to ${method} ${path}: ${body.slice(0, 300)}`)
}

/** Bytes that are this JSON, or almost. */
export function spoiled(random: Random, value: unknown): string {
  const text = JSON.stringify(value)
  if (random.chance(0.9)) return text
  return random.pick([
    text.slice(0, random.int(text.length)),
    `${text}}`,
    random.text(200),
    `[${'['.repeat(500)}`,
    `"${'x'.repeat(100_000)}"`,
    '',
  ])
}
