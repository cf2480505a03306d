/**
 * The path of a request as the manager's router reads it: `%65vents` is `events`, and a `#` ends the path. Such spellings would bypass
 * rules that compare the raw path.
 */
export function readPath(target: string): string {
  const path = target.split(/[?#]/, 1)[0] ?? ''
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
