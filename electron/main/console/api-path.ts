import { AppError } from '#manager/contract'

/**
 * The path as the manager will read it. Servers decode `%6C` to `l`, so rules that compare the raw path can be bypassed.
 *
 * @throws AppError `bad_request` for a path that can be read in more than one way: encoded slashes, dots or percent signs
 */
export function readablePath(pathname: string): string {
  const path = /%(2e|2f|5c|25)|\/\/|\\/i.test(pathname) ? undefined : decode(pathname)
  if (path !== undefined) return path
  throw new AppError('bad_request', { why: 'This path is ambiguous.' })
}

function decode(pathname: string): string | undefined {
  try {
    return decodeURIComponent(pathname)
  } catch {
    return undefined
  }
}
