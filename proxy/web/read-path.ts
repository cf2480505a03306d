/**
 * The path of a request as the manager's router reads it: `%65vents` is `events`, and what follows a `#` does not count. Rules that compare the
 * raw path would be passed by such spellings.
 */
export function readPath(target: string): string {
  const path = target.split(/[?#]/, 1)[0] ?? ''
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
