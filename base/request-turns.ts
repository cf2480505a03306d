declare const setImmediate: (act: () => void) => unknown

/** `Socket`, `IncomingMessage` and `ServerResponse` of Node, structurally: this file is compiled without the types of Node. */
export interface ConnectionLike {
  on(event: 'resume', act: () => void): unknown
  once(event: 'close', act: () => void): unknown
  pause(): unknown
  resume(): unknown
  destroy(): unknown
}
export interface RequestLike {
  readonly socket: ConnectionLike
  readonly url?: string | undefined
  readonly rawHeaders: readonly string[]
}
export interface ResponseLike {
  once(event: 'close', act: () => void): unknown
}

/**
 * Limits how many requests of one connection run at a time: the next ones wait, in their order, and nothing more is read meanwhile. A
 * client that is merely quick loses nothing. Waiting requests begin one by one, and every other connection gets a turn in between. One
 * policy for manager and proxy.
 *
 * Threat model: a client may send thousands of requests without waiting for an answer (HTTP pipelining), and their work would come before
 * everybody else's. Answers go out in the order of their requests, so a client that has the first one answered slowly would make us keep
 * what it sends. Heads therefore count in bytes. Node hands over all requests of one read (64 KiB) at once. The shortest request has 25
 * bytes, and some thousand in memory once parsed, so the number of waiting requests has a limit too; exceeding it ends the connection.
 */
export interface RequestTurns<Request extends RequestLike> {
  /** Calls `begin` when it is the request's turn; never, if its connection ends before. */
  enter(request: Request, response: ResponseLike, begin: () => void): void
  /**
   * Calls `act` once when the request is over, whether its answer was sent or not; now, if it is over. Call this only after `enter` has
   * begun the request.
   */
  onOver(request: Request, act: () => void): void
  /** Requests of a connection that have begun or wait. */
  unanswered(connection: ConnectionLike): number
}

interface Turn {
  readonly bytes: number
  readonly start: () => void
}

interface Line {
  /** Requests that have begun, with the functions to call at their end. */
  readonly running: Map<RequestLike, { readonly bytes: number; readonly acts: (() => void)[] }>
  runningBytes: number
  waiting: Turn[]
  isGoingOn: boolean
  isOver: boolean
}

export interface TurnLimits {
  /** Largest number of requests of a connection that run at a time. Browsers and reverse proxies send the next one after the answer. */
  readonly most?: number
  /** Largest sum of the bytes of their heads; a single request may have more. */
  readonly mostBytes?: number
  /** Largest number of waiting requests; one more ends the connection. */
  readonly mostWaiting?: number
}

export function createRequestTurns<Request extends RequestLike>({
  most = 4,
  mostBytes = 256 * 1024,
  mostWaiting = 2_048,
}: TurnLimits = {}): RequestTurns<Request> {
  const lines = new WeakMap<ConnectionLike, Line>()

  function lineOf(socket: ConnectionLike): Line {
    const known = lines.get(socket)
    if (known) return known
    const line: Line = { running: new Map(), runningBytes: 0, waiting: [], isGoingOn: false, isOver: false }
    lines.set(socket, line)
    // Node resumes reading at the end of each request.
    socket.on('resume', () => line.waiting.length > 0 && socket.pause())
    // An answer that waits for earlier ones does not learn that the connection has ended.
    socket.once('close', () => {
      close(line)
      for (const request of line.running.keys()) end(socket, line, request)
    })
    return line
  }

  function close(line: Line): void {
    line.isOver = true
    line.waiting = []
  }

  const hasRoom = ({ running, runningBytes }: Line, bytes: number) =>
    running.size === 0 || (running.size < most && runningBytes + bytes <= mostBytes)

  function end(socket: ConnectionLike, line: Line, request: RequestLike): void {
    const ended = line.running.get(request)
    if (!ended) return
    line.running.delete(request)
    line.runningBytes -= ended.bytes
    for (const act of ended.acts) act()
    if (line.waiting.length > 0) goOnSoon(socket, line)
  }

  /**
   * Waiting requests begin in turns of the event loop of their own: a refused request ends at once, and a row of them would keep other
   * connections from being read.
   */
  function goOnSoon(socket: ConnectionLike, line: Line): void {
    if (line.isGoingOn) return
    line.isGoingOn = true
    setImmediate(() => {
      line.isGoingOn = false
      goOn(socket, line)
    })
  }

  function goOn(socket: ConnectionLike, line: Line): void {
    const next = line.waiting[0]
    if (!next || !hasRoom(line, next.bytes)) return
    line.waiting.shift()
    next.start()
    if (line.waiting.length > 0) goOnSoon(socket, line)
    else socket.resume()
  }

  return {
    enter(request, response, begin) {
      const { socket } = request
      const line = lineOf(socket)
      // The parser still delivers buffered requests of a connection that was ended.
      if (line.isOver) return
      const bytes = headBytes(request)
      const start = () => {
        line.running.set(request, { bytes, acts: [] })
        line.runningBytes += bytes
        response.once('close', () => end(socket, line, request))
        begin()
      }
      if (line.waiting.length === 0 && hasRoom(line, bytes)) {
        start()
        return
      }
      if (line.waiting.length >= mostWaiting) {
        close(line)
        socket.destroy()
        return
      }
      line.waiting.push({ bytes, start })
      socket.pause()
    },
    onOver(request, act) {
      const running = lines.get(request.socket)?.running.get(request)
      if (running) running.acts.push(act)
      else act()
    },
    unanswered(connection) {
      const line = lines.get(connection)
      return line ? line.running.size + line.waiting.length : 0
    },
  }
}

function headBytes({ url = '', rawHeaders }: RequestLike): number {
  let bytes = url.length
  for (const text of rawHeaders) bytes += text.length + 2
  return bytes
}
