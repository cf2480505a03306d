/** The rest of adjacent parts after `count` bytes. */
export function partsAfter(parts: readonly Uint8Array[], count: number): Uint8Array[] {
  let left = count
  return parts.flatMap(part => {
    const done = Math.min(left, part.length)
    left -= done
    return done < part.length ? [part.subarray(done)] : []
  })
}
