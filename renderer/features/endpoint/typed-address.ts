/** The origin that somebody typed: a bare host name means https. @returns null for an invalid one */
export function typedAddress(text: string): string | null {
  const typed = text.trim()
  if (typed === '') return null
  const url = URL.parse(/^[a-z]+:\/\//i.test(typed) ? typed : `https://${typed}`)
  return url !== null && /^https?:$/.test(url.protocol) ? url.origin : null
}
