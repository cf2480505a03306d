import { type AllowedOptions, AppError, type AppOptions, because, type Because } from '#manager/contract'

/** Options that the image allows, with defaults in Backend.AI's wider form: several values, or none for a flag. */
export interface Allowed extends Pick<AllowedOptions, 'arguments' | 'environment'> {
  readonly defaults: Readonly<Record<string, string | readonly string[] | null>>
}

export interface ChosenOptions {
  /** Words of the image's default arguments that the user has not replaced. */
  readonly defaults: readonly string[]
  /** Words of the user's arguments. */
  readonly words: readonly string[]
  readonly environment: Readonly<Record<string, string>>
}

/**
 * Chooses the arguments and variables of an app's start. The list of allowed names is not a security boundary, because users may run any
 * program in their session: it catches a mistyped argument, which would otherwise end the app with a message that nobody sees.
 *
 * @throws AppError `app_option_refused` for a name that the image does not allow
 */
export function chooseOptions(app: string, allowed: Allowed, options: AppOptions | undefined): ChosenOptions {
  const given = options ?? { arguments: {}, environment: {} }
  refuseUnknown(app, { kind: 'argument', allowed: allowed.arguments, given: Object.keys(given.arguments) })
  refuseUnknown(app, { kind: 'variable', allowed: allowed.environment, given: Object.keys(given.environment) })
  const kept = Object.entries(allowed.defaults).filter(([name]) => !Object.hasOwn(given.arguments, name))
  return {
    defaults: kept.flatMap(([name, value]) => (value === null ? [name] : wordsOf(name, [value].flat()))),
    words: Object.entries(given.arguments).flatMap(([name, value]) => wordsOf(name, [value])),
    environment: given.environment,
  }
}

const wordsOf = (name: string, values: readonly string[]) => [name, ...values.filter(value => value !== '')]

interface Names {
  readonly kind: 'argument' | 'variable'
  readonly allowed: readonly string[]
  readonly given: readonly string[]
}

function refuseUnknown(app: string, { kind, allowed, given }: Names): void {
  const unknown = given.find(name => !allowed.includes(name))
  if (unknown === undefined) return
  throw new AppError('app_option_refused', {
    app,
    option: unknown,
    allowed: [...allowed],
    ...whyRefused(kind, unknown, allowed.join(', ')),
  })
}

/** @param taken names that the app accepts; empty if it accepts none */
function whyRefused(kind: Names['kind'], name: string, taken: string): Because {
  if (taken === '') return because(kind === 'argument' ? 'app_takes_no_arguments' : 'app_takes_no_variables', { name })
  return because(kind === 'argument' ? 'app_takes_arguments' : 'app_takes_variables', { name, taken })
}
