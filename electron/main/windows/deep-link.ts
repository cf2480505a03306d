import { isToken, SessionId } from '#manager/contract'

/**
 * Route of a deep link: `berth://open/sessions`, `berth://open/sessions/<id>` and `berth://sign-in/<code>`. Anyone can make such a link, so it
 * only ever moves the page to a place the user can reach by clicking; it never opens a tunnel or names a server. The code of a sign-in
 * that was begun elsewhere signs nobody in: it counts only with the secret of the sign-in, which the page that began it keeps.
 *
 * @returns the console's route, or undefined for anything else
 */
export function routeOfDeepLink(text: string): string | undefined {
  const url = URL.parse(text)
  if (url?.protocol !== 'berth:' || url.search !== '' || url.hash !== '') return undefined
  if (url.host === 'sign-in') {
    const code = url.pathname.slice(1)
    return isToken(code) ? `/sign-in?sso=${code}` : undefined
  }
  if (url.host !== 'open') return undefined
  const [, place, id, ...rest] = url.pathname.split('/')
  if (place !== 'sessions' || rest.length > 0) return undefined
  if (id === undefined || id === '') return '/sessions'
  return SessionId.safeParse(id).success ? `/sessions/${id}` : undefined
}

/** Finds the link among a second instance's arguments. */
export function deepLinkOf(argv: readonly string[]): string | undefined {
  return argv.map(routeOfDeepLink).find(route => route !== undefined)
}
