/**
 * An address of the console's page. What follows `#` is sent to no server and stands in no access log.
 *
 * @param base address of the console, without a slash at the end
 */
export function linkTo(
  base: string,
  page: 'sign-up' | 'verify' | 'reset-password',
  query: Readonly<Record<string, string>>,
): string {
  return `${base}/#/${page}?${new URLSearchParams(query).toString()}`
}
