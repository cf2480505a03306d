/** The shell that a terminal opens by default. */
export const FIRST_SHELL = 'main'
/** Names of shells that the manager accepts. */
const NAME = /^[a-z0-9][a-z0-9-]{0,31}$/

/** @returns the smallest free `shell-N`, from 2 */
export function nextShell(open: readonly string[]): string {
  let number = 2
  while (open.includes(`shell-${number}`)) number += 1
  return `shell-${number}`
}

/** Parses the open shells of a session from browser storage; invalid text becomes the first shell. */
export function parseShells(text: string | null): string[] {
  const names = (text ?? '').split(',').filter(name => NAME.test(name))
  return names.length > 0 ? [...new Set(names)] : [FIRST_SHELL]
}
