import { type OrUnlimited, UNLIMITED } from './limit-flags.ts'

const NONE = 'none'

/** Description of the option of policies and domains. */
export const ALLOW_NAMES = `names that sessions may reach, separated by commas, "${NONE}" for no network, or ${UNLIMITED}`

export function parseAllowedNames(text: string): OrUnlimited<string[]> {
  if (text === UNLIMITED) return text
  return text === NONE ? [] : text.split(',').filter(name => name !== '')
}

export function allowedNamesText(names: readonly string[] | null): string {
  if (names === null) return 'full'
  return names.length === 0 ? NONE : names.join(',')
}
