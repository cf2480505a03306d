/** Names of shells as the manager accepts them; the first is what a terminal opens by default. */
export const FIRST_SHELL = 'main'
const NAME = /^[a-z0-9][a-z0-9-]{0,31}$/

/** The smallest free `shell-N`, from 2. */
export function nextShell(open: readonly string[]): string {
  let number = 2
  while (open.includes(`shell-${number}`)) number += 1
  return `shell-${number}`
}

/** Open shells of a session, as a text of this browser remembers them; nonsense becomes the first shell. */
export function parseShells(text: string | null): string[] {
  const names = (text ?? '').split(',').filter(name => NAME.test(name))
  return names.length > 0 ? [...new Set(names)] : [FIRST_SHELL]
}
