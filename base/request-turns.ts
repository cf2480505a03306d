import { type IncomingMessage, type ServerResponse } from 'node:http'
import { type Socket } from 'node:net'

/**
 * Keeps the requests of one connection few at a time: the next ones wait, in their order, and nothing more is read meanwhile.
 *
 * Threat model: a client may send thousands of requests without waiting for an answer (HTTP pipelining). Node hands over all of them
 * at once, and their work would come before everybody else's.
 */
export interface RequestTurns {
  /** Calls `begin` when it is the request's turn; never, if its connection ends before. */
  enter(request: IncomingMessage, response: ServerResponse, begin: () => void): void
  /** Calls `act` once when the request is over, whether its answer was sent or not. Only after `enter` has begun it. */
  onOver(request: IncomingMessage, act: () => void): void
}

interface Line {
  readonly running: Map<IncomingMessage, (() => void)[]>
  waiting: (() => void)[]
  isGoingOn: boolean
}

/** @param most requests of a connection that are worked on at a time */
export function createRequestTurns(most: number): RequestTurns {
  const lines = new WeakMap<Socket, Line>()

  function lineOf(socket: Socket): Line {
    const known = lines.get(socket)
    if (known) return known
    const line: Line = { running: new Map(), waiting: [], isGoingOn: false }
    lines.set(socket, line)
    // Node goes on reading when one of the requests has been read.
    socket.on('resume', () => line.waiting.length > 0 && socket.pause())
    // An answer that waits for earlier ones does not learn that the connection has ended.
    socket.once('close', () => {
      line.waiting = []
      for (const request of line.running.keys()) end(socket, line, request)
    })
    return line
  }

  function end(socket: Socket, line: Line, request: IncomingMessage): void {
    const acts = line.running.get(request)
    if (!line.running.delete(request)) return
    for (const act of acts ?? []) act()
    if (line.waiting.length === 0 || line.isGoingOn) return
    line.isGoingOn = true
    // Not at once: requests that are refused without waiting for anything would keep other connections from being read.
    setImmediate(() => goOn(socket, line))
  }

  function goOn(socket: Socket, line: Line): void {
    line.isGoingOn = false
    for (const begin of line.waiting.splice(0, most - line.running.size)) begin()
    if (line.waiting.length === 0) socket.resume()
  }

  return {
    enter(request, response, begin) {
      const { socket } = request
      const line = lineOf(socket)
      const start = () => {
        line.running.set(request, [])
        response.once('close', () => end(socket, line, request))
        begin()
      }
      if (line.running.size < most && line.waiting.length === 0) {
        start()
        return
      }
      line.waiting.push(start)
      socket.pause()
    },
    onOver(request, act) {
      lines.get(request.socket)?.running.get(request)?.push(act)
    },
  }
}
