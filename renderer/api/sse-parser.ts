export interface SseEvent {
  readonly event: string
  readonly data: string
  readonly id: string | undefined
}

/**
 * Streaming parser of `text/event-stream` (WHATWG HTML, 9.2.6). Own, because the browser's EventSource can neither
 * send a `Last-Event-ID` of ours nor tell a 401 from a broken connection.
 *
 * @param onEvent called for every complete event with data
 * @returns takes pieces of text as they arrive; a line or a CR LF may be split between two of them
 */
export function createSseParser(onEvent: (event: SseEvent) => void): (chunk: string) => void {
  let rest = ''
  let event = ''
  let id: string | undefined
  let data: string[] = []

  const take = (line: string) => {
    if (line === '') {
      if (data.length > 0) onEvent({ event: event || 'message', data: data.join('\n'), id })
      event = ''
      data = []
      return
    }
    if (line.startsWith(':')) return
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') event = value
    else if (field === 'data') data.push(value)
    else if (field === 'id' && !value.includes('\0')) id = value
  }

  return chunk => {
    rest += chunk
    // A lone CR at the end may be the first half of CR LF: wait for the next piece.
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    lines.forEach(take)
  }
}
