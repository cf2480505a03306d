import { type Domain } from '#manager/contract'
import { type OrUnlimited, UNLIMITED } from './limit-flags.ts'

const NONE = 'none'

/** Description of the option of policies and domains. */
export const ALLOW_NAMES = `names that sessions may reach, separated by commas, "${NONE}" for no network, or ${UNLIMITED}`

/** The same for launches that choose no network. */
export const DEFAULT_NAMES = `names that a session reaches if its launch chooses no network, separated by commas, "${NONE}" for no network, or ${UNLIMITED} for as much as is allowed`

export function parseAllowedNames(text: string): OrUnlimited<string[]> {
  if (text === UNLIMITED) return text
  return text === NONE ? [] : text.split(',').filter(name => name !== '')
}

function allowedNamesText(names: readonly string[] | null): string {
  if (names === null) return 'full'
  return names.length === 0 ? NONE : names.join(',')
}

/** The most that sessions may reach, and the default if that is less. */
export function networkBoundText({
  allowedNames,
  defaultNames,
}: Pick<Domain, 'allowedNames' | 'defaultNames'>): string {
  const most = allowedNamesText(allowedNames)
  return defaultNames === null ? most : `${most} (default: ${allowedNamesText(defaultNames)})`
}
