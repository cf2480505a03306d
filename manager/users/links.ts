/**
 * Address of a page of the console. The part after `#` is sent to no server and appears in no access log.
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
