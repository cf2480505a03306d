import { SessionId } from '#manager/contract'

/**
 * Route of a deep link: `berth://open/sessions` and `berth://open/sessions/<id>`. Anyone can make such a link, so it only ever
 * moves the page to a place the user can reach by clicking; it never signs in, opens a tunnel, or names a server.
 *
 * @returns the console's route, or undefined for anything else
 */
export function routeOfDeepLink(text: string): string | undefined {
  const url = URL.parse(text)
  if (url?.protocol !== 'berth:' || url.host !== 'open' || url.search !== '' || url.hash !== '') return undefined
  const [, place, id, ...rest] = url.pathname.split('/')
  if (place !== 'sessions' || rest.length > 0) return undefined
  if (id === undefined || id === '') return '/sessions'
  return SessionId.safeParse(id).success ? `/sessions/${id}` : undefined
}

/** Finds the link among a second instance's arguments. */
export function deepLinkOf(argv: readonly string[]): string | undefined {
  return argv.map(routeOfDeepLink).find(route => route !== undefined)
}
