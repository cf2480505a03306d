/** Longest text behind a marker: an exit code. */
const MOST_AFTER = 16

export interface MarkedStream {
  /** @returns what of the output is certain so far; a view into the chunk where that is possible */
  push(chunk: Buffer): Buffer
  /** The line behind the marker, without its line feed; undefined until all of it is there. */
  readonly after: string | undefined
}

const NOTHING = Buffer.alloc(0)

/**
 * Finds the marker and one line that our wrapper writes behind the output of a command, and takes them out. The bytes of the command are
 * passed on as they come; only what may be the beginning of the marker is held back.
 *
 * @param marker a text whose first byte does not occur in it again
 */
export function createMarkedStream(marker: Buffer): MarkedStream {
  let held = NOTHING
  let isFound = false
  let after = ''

  function take(text: Buffer): void {
    if (after.endsWith('\n')) return
    const line = text.indexOf(0x0a)
    after += text.toString('latin1', 0, Math.min(line < 0 ? text.length : line + 1, MOST_AFTER))
    if (after.length >= MOST_AFTER) after = `${after.slice(0, MOST_AFTER)}\n`
  }

  return {
    push(chunk) {
      if (isFound) {
        take(chunk)
        return NOTHING
      }
      const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk])
      const at = bytes.indexOf(marker)
      if (at >= 0) {
        isFound = true
        held = NOTHING
        take(bytes.subarray(at + marker.length))
        return bytes.subarray(0, at)
      }
      const from = Math.max(0, bytes.length - marker.length + 1)
      const begun = bytes.subarray(from).lastIndexOf(marker.readUInt8(0))
      const end = begun >= 0 && marker.indexOf(bytes.subarray(from + begun)) === 0 ? from + begun : bytes.length
      held = Buffer.from(bytes.subarray(end))
      return bytes.subarray(0, end)
    },
    get after() {
      return after.endsWith('\n') ? after.slice(0, -1) : undefined
    },
  }
}
