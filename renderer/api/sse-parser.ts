import { createParser } from 'eventsource-parser'

export interface SseEvent {
  readonly event: string
  readonly data: string
  readonly id: string | undefined
}

/**
 * Streaming parser of `text/event-stream` (WHATWG HTML, 9.2.6). The browser's EventSource does not fit: it can neither send our
 * own `Last-Event-ID` nor tell a 401 from a broken connection.
 *
 * @param onEvent called for every complete event with data; an event without an id takes the id of the previous event
 * @returns a function that takes pieces of text as they arrive; a line or a CR LF may be split between two of them
 */
export function createSseParser(onEvent: (event: SseEvent) => void): (chunk: string) => void {
  let lastId: string | undefined
  const parser = createParser({
    onEvent({ event = 'message', data, id = lastId }) {
      lastId = id
      onEvent({ event, data, id })
    },
  })
  return chunk => {
    parser.feed(chunk)
  }
}
