/** Fields by which a browser tells which page sent a request; values as received. */
interface SenderFields {
  readonly origin: string
  readonly fetchSite: string | undefined
}

/**
 * Whether a page of the origin `own` sent a request.
 *
 * Threat model: pages of other sites make a browser send requests here. They cannot choose Origin or `Sec-Fetch-Site`, which the browser
 * writes. A page with `Referrer-Policy: no-referrer` sends its own forms with `Origin: null`, and so do sandboxed frames, redirects by way
 * of another site, and foreign pages with that policy: only `Sec-Fetch-Site: same-origin` distinguishes a page's own forms from the others.
 *
 * @returns `unsaid` if the browser sends neither field, as over plain http
 */
export function senderOf({ origin, fetchSite }: SenderFields, own: string): 'own' | 'foreign' | 'unsaid' {
  if (origin.toLowerCase() === own) return 'own'
  if (origin !== 'null') return 'foreign'
  if (fetchSite === undefined) return 'unsaid'
  return fetchSite === 'same-origin' ? 'own' : 'foreign'
}
