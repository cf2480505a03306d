const LENGTH = /^content-length:[\t ]*(\d+)[\t ]*$/i

/**
 * Drops what a head repeats of its Content-Length: some apps send the field twice with one value, which browsers and curl take for one,
 * and RFC 9110 section 8.6 lets a recipient do the same. Node's parser refuses it.
 *
 * Threat model: the app chooses the bytes, and Node's parser judges what is left of them. So nothing but whole lines goes, each the
 * same length in digits as one that stays, of a head that is there completely; different lengths stay, and are refused.
 *
 * @param bytes first bytes of an answer
 */
export function withoutRepeatedLength(bytes: Buffer): Buffer {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return bytes
  const lines = bytes.toString('latin1', 0, headEnd).split('\r\n')
  // A line that begins with a blank continues the line before it: what is a field is for the parser to say.
  if (lines.some(line => /^[\t ]/.test(line))) return bytes
  const lengths = lines.map(line => LENGTH.exec(line)?.[1])
  const first = lengths.findIndex(length => length !== undefined)
  const kept = lines.filter((_, at) => at <= first || lengths[at] === undefined || lengths[at] !== lengths[first])
  if (kept.length === lines.length) return bytes
  return Buffer.concat([Buffer.from(kept.join('\r\n'), 'latin1'), bytes.subarray(headEnd)])
}
