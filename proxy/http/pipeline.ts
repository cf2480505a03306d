import { type IncomingMessage, type ServerResponse } from 'node:http'
import { type Socket } from 'node:net'
import { createRequestTurns } from '#base/request-turns'

const turns = createRequestTurns<IncomingMessage>()
const ending = new WeakSet<Socket>()
const latest = new WeakMap<Socket, IncomingMessage>()

/** Calls `begin` when it is the request's turn among those of its connection. */
export function enterPipeline(request: IncomingMessage, response: ServerResponse, begin: () => void): void {
  const { socket } = request
  latest.set(socket, request)
  turns.enter(request, response, () => {
    turns.onOver(request, () => {
      if (ending.has(socket) && turns.unanswered(socket) <= withoutAnswer(socket)) socket.destroySoon()
    })
    begin()
  })
}

/** Whether other requests of the connection wait for their answers, besides the latest. */
export const isPipelined = (socket: Socket) => turns.unanswered(socket) > 1

/** Whether a connection has requests whose answers have not been sent completely. */
export const hasUnanswered = (socket: Socket) => turns.unanswered(socket) > 0

/**
 * Ends a connection after the last answer that is on its way, when the parser has failed. @returns false if there is none; the connection is
 * left alone then
 */
export function endAfterAnswers(socket: Socket): boolean {
  if (!hasUnanswered(socket)) return false
  ending.add(socket)
  if (turns.unanswered(socket) <= withoutAnswer(socket)) socket.destroy()
  return true
}

/**
 * A request in whose body the parser has failed, or its client has left, waits in vain for the rest, and so would an app that reads it: it
 * is not waited for.
 */
const withoutAnswer = (socket: Socket) => (latest.get(socket)?.complete === false ? 1 : 0)
