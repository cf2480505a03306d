/**
 * The bytes of an attached command (`GET commandStreamPath`, a WebSocket with the subprotocol `berth.tunnel.v1`): frames, in both
 * directions, each with a header of 5 bytes: the kind, and the length of what follows, 32 bits big-endian. A frame of length 0 is valid.
 *
 *     to the session:    stdin, stdinEnd (empty), signal (its name: INT, TERM, …)
 *     from the session:  stdout, stderr, exit (a `CommandEnd` as JSON), which is the last one
 *
 * A frame of bytes may be cut, or joined with others, on the way, so it says nothing about the writes of its sender.
 */
export const COMMAND_FRAME = { stdin: 0, stdout: 1, stderr: 2, stdinEnd: 3, signal: 4, exit: 5 } as const

/** Signals that reach a command. KILL ends it with everything that it has started. */
export const COMMAND_SIGNALS = ['INT', 'TERM', 'HUP', 'QUIT', 'USR1', 'USR2', 'KILL'] as const
export type CommandSignal = (typeof COMMAND_SIGNALS)[number]

/** Address of the WebSocket of an attached command, below the manager's. */
export function commandStreamPath(sessionId: string, commandId: string): string {
  return `/stream/session/${sessionId}/command?id=${commandId}`
}

const HEADER_BYTES = 5

/** @param length bytes that follow, up to 2^32 - 1 */
export function commandFrameHeader(kind: number, length: number): Uint8Array {
  const header = new Uint8Array(HEADER_BYTES)
  header[0] = kind
  new DataView(header.buffer).setUint32(1, length)
  return header
}

/**
 * Reads frames of any size without keeping their bytes.
 *
 * @param onPart called with views into the pushed chunk, as they arrive; `isLast` with the last part of a frame, once for each frame
 * @returns takes the next bytes
 */
export function createCommandFrameReader(
  onPart: (kind: number, part: Uint8Array, isLast: boolean) => void,
): (chunk: Uint8Array) => void {
  const header = new Uint8Array(HEADER_BYTES)
  let have = 0
  let remaining = 0
  return chunk => {
    let at = 0
    while (at < chunk.length) {
      if (have < HEADER_BYTES) {
        header[have++] = chunk[at++] ?? 0
        if (have < HEADER_BYTES) continue
        remaining = new DataView(header.buffer).getUint32(1)
        if (remaining > 0) continue
      }
      const part = chunk.subarray(at, at + remaining)
      at += part.length
      remaining -= part.length
      if (remaining === 0) have = 0
      onPart(header[0] ?? 0, part, remaining === 0)
    }
  }
}

/** Longest text of a frame that is read as a whole. */
const MOST_TEXT_BYTES = 1_024

/**
 * Collects the parts of a short frame. The reader's peer may be hostile.
 *
 * @returns takes a part; the text with the last one @throws RangeError if the frame is too long
 */
export function createFrameText(): (part: Uint8Array, isLast: boolean) => string | undefined {
  let parts: Uint8Array[] = []
  let bytes = 0
  return (part, isLast) => {
    bytes += part.length
    if (bytes > MOST_TEXT_BYTES) throw new RangeError('a frame of a command is too long')
    parts.push(part.slice())
    if (!isLast) return undefined
    const whole = new Uint8Array(bytes)
    let at = 0
    for (const one of parts) {
      whole.set(one, at)
      at += one.length
    }
    parts = []
    bytes = 0
    return String.fromCharCode(...whole)
  }
}
