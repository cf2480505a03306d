/**
 * Frees the memory of a chunk that came from a socket at once. Without it, V8 collects its whole heap after every 64 MiB of such chunks, which
 * takes more processor time than a transfer itself.
 *
 * The caller must be the last one that uses the chunk: it has no bytes afterwards. A chunk that shares its memory with others
 * is left to the garbage collector.
 */
export function releaseBytes({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
