import { type IncomingMessage, type ServerResponse } from 'node:http'
import { type Socket } from 'node:net'

/**
 * Requests of one connection that wait for their answers. Browsers and reverse proxies send the next one after the answer, and
 * programs that pipeline send a few.
 */
export const MOST_UNANSWERED = 32

interface Pipeline {
  unanswered: number
  isEnding: boolean
}

const pipelines = new WeakMap<Socket, Pipeline>()

/**
 * Counts a request in until its answer is out or given up. One too many cuts the connection.
 *
 * Threat model: answers go out in the order of their requests, so a client that has one answered slowly, or not at all, could make
 * us keep as many requests as it likes to send, and a single segment brings hundreds.
 *
 * @returns false for a request that is not to be handled: its connection is cut
 */
export function enterPipeline({ socket }: IncomingMessage, response: ServerResponse): boolean {
  // The parser goes on with what it has of a connection that was cut.
  if (socket.destroyed) return false
  const pipeline = pipelines.get(socket) ?? { unanswered: 0, isEnding: false }
  if (pipeline.unanswered >= MOST_UNANSWERED) {
    socket.destroy()
    return false
  }
  pipelines.set(socket, pipeline)
  pipeline.unanswered++
  response.once('close', () => {
    pipeline.unanswered--
    if (pipeline.unanswered === 0 && pipeline.isEnding) socket.destroySoon()
  })
  return true
}

/** Whether other requests of the connection wait for their answers, besides the latest. */
export const isPipelined = (socket: Socket) => (pipelines.get(socket)?.unanswered ?? 0) > 1

/** Ends a connection after the last answer that is on its way. @returns false if there is none; the connection is left alone then */
export function endAfterAnswers(socket: Socket): boolean {
  const pipeline = pipelines.get(socket)
  if (!pipeline || pipeline.unanswered === 0) return false
  pipeline.isEnding = true
  return true
}
