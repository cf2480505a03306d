/** Bytes of one request. Its progress is known only at its end, and one piece of each upload is in memory. */
export const PIECE_BYTES = 8 * 1024 * 1024

/**
 * Reads a file for tus in pieces of bytes. The desktop app answers the requests of its page itself, and Electron reads a body that is a
 * file, or a part of one, into memory as a whole before it passes it on; some versions lose it.
 */
export function openInPieces(file: Blob) {
  return Promise.resolve({
    size: file.size,
    async slice(start: number, end: number) {
      const value = new Uint8Array(await file.slice(start, end).arrayBuffer())
      // The size of the file is known, so the end of the pieces needs no mark; tus would look for a size of the last one.
      return { value, done: false }
    },
    close: () => undefined,
  })
}
