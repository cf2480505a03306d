type Done = (error?: Error | null) => void

/** The part of `net.Socket` that sends, and reports the end. */
interface Peer {
  readonly readableEnded: boolean
  _write(chunk: unknown, encoding: string, done: Done): void
  _writev?(chunks: readonly unknown[], done: Done): void
  once(event: 'end', listener: () => void): unknown
  destroy(error: Error): unknown
}

/**
 * Reads a socket to its end although a write has failed.
 *
 * A service may answer before it has read a whole request (413, 401, 507), and close. Its kernel then resets the connection, and the next
 * write fails. By default Node destroys the socket with that error, and the answer that the kernel has already received is lost. Here the
 * socket is first read to its end, and then destroyed with the error.
 */
export function readOnAfterReset(socket: Peer): void {
  const write = socket._write.bind(socket)
  const writeMany = socket._writev?.bind(socket)
  let reset: Error | undefined
  const judged = (done: Done) => (error?: Error | null) => {
    if (!error || socket.readableEnded || !isOfReset(error)) {
      done(error)
      return
    }
    reset = error
    done()
  }
  socket._write = (chunk, encoding, done) => {
    if (reset) done()
    else write(chunk, encoding, judged(done))
  }
  if (writeMany) {
    socket._writev = (chunks, done) => {
      if (reset) done()
      else writeMany(chunks, judged(done))
    }
  }
  socket.once('end', () => {
    if (reset) socket.destroy(reset)
  })
}

const isOfReset = (error: Error) => 'code' in error && (error.code === 'EPIPE' || error.code === 'ECONNRESET')
