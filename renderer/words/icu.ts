import { numberFormat } from './number-format.ts'

/**
 * Functions that compiled messages call (build/compile-message.ts): plurals and numbers of one language. The parser of ICU messages is in
 * the build, not in the page.
 */
const rules = new Map<string, Intl.PluralRules>()

function pluralRules(language: string): Intl.PluralRules {
  let known = rules.get(language)
  if (!known) rules.set(language, (known = new Intl.PluralRules(language)))
  return known
}

type Branches = Readonly<Record<string, (amount: string) => string>>

/** The branch of a plural: for the exact number (`=0`), else for its category (`one`), else `other`. */
export function plural(language: string, value: unknown, branches: Branches): string {
  const amount = Number(value)
  const branch = branches[`=${amount}`] ?? branches[pluralRules(language).select(amount)] ?? branches['other']
  return branch?.(number(amount)) ?? ''
}

/** The branch of a choice by name, else `other`. */
export function select(value: unknown, branches: Readonly<Record<string, () => string>>): string {
  return (branches[String(value)] ?? branches['other'])?.() ?? ''
}

/** A number with the separators of the reader's language. */
export function number(value: unknown): string {
  return numberFormat().format(Number(value))
}
