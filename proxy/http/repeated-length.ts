const LENGTH = /^content-length:[\t ]*(\d+)[\t ]*$/i

/**
 * Drops repeated Content-Length fields of a head: some apps send the field twice with one value. Browsers and curl accept that, and RFC
 * 9110 section 8.6 allows it. Node's parser refuses it.
 *
 * Threat model: the app chooses the bytes, and Node's parser judges what is left of them. So only whole lines of a complete head are
 * dropped, and only if they repeat the digits of a line that stays; different lengths stay, and are refused.
 *
 * @param bytes first bytes of an answer
 */
export function withoutRepeatedLength(bytes: Buffer): Buffer {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return bytes
  const lines = bytes.toString('latin1', 0, headEnd).split('\r\n')
  // A line that begins with a blank continues the line before it: leave the decision what is a field to the parser.
  if (lines.some(line => /^[\t ]/.test(line))) return bytes
  const lengths = lines.map(line => LENGTH.exec(line)?.[1])
  const first = lengths.findIndex(length => length !== undefined)
  const kept = lines.filter((_, at) => at <= first || lengths[at] === undefined || lengths[at] !== lengths[first])
  if (kept.length === lines.length) return bytes
  return Buffer.concat([Buffer.from(kept.join('\r\n'), 'latin1'), bytes.subarray(headEnd)])
}
