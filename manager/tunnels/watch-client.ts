import { type Socket } from 'node:net'

/** Limit for a client that sends before it gets an answer, which is unusual but legal; a client that sends more is paused. */
const MAX_EARLY_BYTES = 64 * 1024

export interface WatchedClient {
  /** Aborted when the client disconnects. */
  readonly gone: AbortSignal
  /** Ends the watch. @returns the bytes that the client has sent meanwhile */
  stop(): Buffer
}

/** Reads a client that is not connected to anything yet, because a socket that is not read does not report its end. */
export function watchClient(client: Socket, head: Buffer): WatchedClient {
  const controller = new AbortController()
  const early: Buffer[] = head.length > 0 ? [head] : []
  let bytes = head.length

  const abort = () => controller.abort(new Error('the client went away'))
  const keep = (chunk: Buffer) => {
    early.push(chunk)
    bytes += chunk.length
    if (bytes > MAX_EARLY_BYTES) client.pause()
  }
  client.on('data', keep).on('end', abort).on('error', abort).on('close', abort)
  return {
    gone: controller.signal,
    stop() {
      client.off('data', keep).off('end', abort).off('error', abort).off('close', abort)
      return Buffer.concat(early)
    },
  }
}
