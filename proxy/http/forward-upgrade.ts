import { type IncomingMessage, STATUS_CODES } from 'node:http'
import { type Duplex } from 'node:stream'
import { containedBy } from './contain.ts'
import { answerHeadersOf, isFinalStatus, open, type Upstream, withoutExpect } from './forward.ts'
import { type RawHeaders } from '#base/raw-headers'
import { cutAfterEnd, STALLED_MS } from './raw-answer.ts'
import { switched } from './switched.ts'
import { tunnelledProtocols } from './upgrade-offers.ts'

/** Deadline for the answer to an upgrade, the dialling of the upstream included. No protocol has a reason to wait for longer. */
const ANSWER_MS = 90_000

/**
 * Forwards a request for a tunnel (`upgrade-offers.ts`; a WebSocket, mostly) and then both byte streams, including half-close. The threat model is that of
 * `forwardRequest`; `onFailure` is called at most once, and only if no answer was sent. An answer other than 101 that does not move is cut,
 * whether its reader or the upstream is slow: the server's own limits do not apply to the connection any more.
 */
export function forwardUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  upstream: Upstream,
  onFailure: (error: Error) => void,
): void {
  const contained = containedBy(socket, upstream.log)
  let state: 'waiting' | 'answered' | 'failed' = 'waiting'
  const fail = contained((error: Error) => {
    if (state === 'answered') socket.destroy()
    if (state !== 'waiting') return
    state = 'failed'
    onFailure(error)
  })
  const outgoing = open(request, upstream.options, () => [
    ...upstream.headers(withoutExpect(request)),
    'Connection',
    'Upgrade',
    'Upgrade',
    tunnelledProtocols(request.headers.upgrade).join(', '),
  ])
  if (outgoing instanceof Error) {
    fail(outgoing)
    return
  }
  socket.on('close', () => outgoing.destroy())
  const timer = setTimeout(() => {
    fail(new Error('The app did not answer the upgrade.'))
    outgoing.destroy()
  }, ANSWER_MS)
  const answered = () => {
    clearTimeout(timer)
    state = 'answered'
  }
  outgoing.on('close', () => {
    clearTimeout(timer)
  })
  outgoing.on('error', fail)
  outgoing.on(
    'upgrade',
    contained((incoming: IncomingMessage, far: Duplex, farHead: Buffer) => {
      answered()
      far.on('error', () => socket.destroy())
      // Browsers obey the fields of a 101 too, Set-Cookie for example: they pass the same filter as those of other answers.
      const switching = ['Connection', 'Upgrade', 'Upgrade', incoming.headers.upgrade ?? '']
      switched(socket)
      socket.write(responseHead(incoming, [...answerHeadersOf(incoming, upstream), ...switching]), 'latin1')
      if (farHead.length > 0) socket.write(farHead)
      if (head.length > 0) far.write(head)
      splice(socket, far)
    }),
  )
  outgoing.on(
    'information',
    contained(({ statusCode }: { statusCode: number }) => {
      // A 101 without the fields that name the protocol: Node would wait for another answer.
      if (statusCode === 101) outgoing.destroy(new Error('The app switched to a protocol that it did not name.'))
    }),
  )
  outgoing.on(
    'response',
    contained((incoming: IncomingMessage) => {
      if (!isFinalStatus(incoming.statusCode)) {
        outgoing.destroy(new Error('The app answered with an HTTP status that does not exist.'))
        return
      }
      // The upgrade was refused: forward the answer, and close the connection at its end.
      answered()
      const moved = cutAfterEnd(socket)
      socket.write(responseHead(incoming, [...answerHeadersOf(incoming, upstream), 'Connection', 'close']), 'latin1')
      incoming.on('error', () => socket.destroy())
      incoming.on('close', () => {
        if (!incoming.complete) socket.destroy()
      })
      // The pipe reads more of the answer only after the reader has taken the previous part.
      incoming.on('data', moved)
      incoming.pipe(socket)
    }),
  )
  outgoing.end()
}

/**
 * Joins two byte streams. Half-close is passed on; when one breaks, the other is cut. When one has closed in order, its peer has a grace
 * period to read the rest.
 */
function splice(a: Duplex, b: Duplex): void {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    from.on('error', () => to.destroy())
    from.on('close', () => {
      if (from.readableEnded) cutAfterEnd(to, STALLED_MS)
      else to.destroy()
    })
    from.pipe(to)
  }
}

function responseHead(incoming: IncomingMessage, headers: RawHeaders): string {
  const status = incoming.statusCode ?? 502
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`]
  for (let i = 0; i + 1 < headers.length; i += 2) lines.push(`${headers[i] ?? ''}: ${headers[i + 1] ?? ''}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}
