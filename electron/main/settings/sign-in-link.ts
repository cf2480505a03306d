/**
 * Parses the address of a console, with the one-time ticket if it is a sign-in link (`…/#/sign-in?ticket=…`). The ticket is in
 * the fragment, which no server sees.
 */
export function parseSignInLink(link: string): { endpoint: string; ticket: string | null } {
  const { origin, hash } = new URL(link)
  const query = hash.split('?')[1]
  return { endpoint: origin, ticket: query === undefined ? null : new URLSearchParams(query).get('ticket') }
}
