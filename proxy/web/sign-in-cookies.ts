/** Cookies as the manager makes them. The origin of an app may also have one (`berth_app_PORT`), which is not meant for the manager. */
const OUR_COOKIE = /^(__Host-)?berth_\d{1,5}=berth_[\w-]{43}$/

/**
 * Filters a Cookie field: keeps the cookies that may be a sign-in at the manager; empty if there is none.
 *
 * Threat model: browsers send the cookies of all programs at a host name to every port of it. Cookies of other programs are not meant for
 * the manager, and could exceed the size that it reads. Cookies that others set under our name pass, but match no origin secret.
 */
export const signInCookies = (field: string): string => pairsOf(field).join('; ')

/** Largest number of cookies of one request. */
const MOST_COOKIES = 1_000

/**
 * Cookies that may be a sign-in at the manager, each `name=value`, for requests without an origin secret. A name with several values is
 * left out: a program at another port has set one of them.
 */
export function plainSignIns(field: string): string[] {
  const pairs = [...new Set(pairsOf(field))]
  const nameOf = (pair: string) => pair.slice(0, pair.indexOf('='))
  const byName = Map.groupBy(pairs, nameOf)
  return pairs.filter(pair => byName.get(nameOf(pair))?.length === 1).slice(0, MOST_COOKIES)
}

const pairsOf = (field: string) =>
  field
    .split(';')
    .map(pair => pair.trim())
    .filter(pair => OUR_COOKIE.test(pair))
