/** Of an app's origin (`berth_app_PORT`) there may be one as well; it is none of the manager's business. */
const OUR_COOKIE = /^(__Host-)?berth_\d{1,5}=[\w-]{1,64}$/

/**
 * The cookies of a Cookie field that may be a sign-in at the manager, as a field; empty where there is none.
 *
 * Threat model: browsers send the cookies of all programs at a host name to every port of it. Those of others are none of the
 * manager's business, and would soon be more than it reads. Cookies that others set under our name pass; they fit no origin
 * secret.
 */
export function signInCookies(field: string): string {
  return field
    .split(';')
    .map(pair => pair.trim())
    .filter(pair => OUR_COOKIE.test(pair))
    .join('; ')
}
