/** Bytes per request. Progress is known only at the end of a request, and one piece of each upload is held in memory. */
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
      // The size of the file is known, so the last piece needs no mark; with one, tus would expect its size.
      return { value, done: false }
    },
    close: () => undefined,
  })
}
