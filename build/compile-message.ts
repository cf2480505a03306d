import { parse, TYPE, type MessageFormatElement } from '@formatjs/icu-messageformat-parser'

/** `<link>…</link>` is text: `ui/RichText.ts` reads it. */
const OPTIONS = { ignoreTag: true } as const

/** A compiled message: a text, or the source of a function of vue-i18n's message context. */
export type CompiledMessage = { readonly text: string } | { readonly source: string }

/**
 * Compiles an ICU message to the source of a function, so that the page needs no parser and no eval.
 * @param text placeholders `{name}`, `{count, number}`, `{count, plural, one {…} other {…}}`, `{kind, select, a {…} other {…}}`
 * @throws SyntaxError for a message that ICU does not parse; Error for a placeholder of another type
 */
export function compileMessage(language: string, text: string): CompiledMessage {
  const parts = parse(text, OPTIONS)
  if (parts.every(part => part.type === TYPE.literal)) return { text: parts.map(part => part.value).join('') }
  return { source: `c=>${expression(language, parts)}` }
}

/** The names of the placeholders of a message, sorted. */
export function placeholdersOf(text: string): string[] {
  const names = new Set<string>()
  const visit = (parts: readonly MessageFormatElement[]) => {
    for (const part of parts) {
      if (part.type === TYPE.literal || part.type === TYPE.pound) continue
      names.add(part.value)
      if ('options' in part) for (const { value } of Object.values(part.options)) visit(value)
    }
  }
  visit(parse(text, OPTIONS))
  return [...names].toSorted()
}

function expression(language: string, parts: readonly MessageFormatElement[]): string {
  return ['""', ...parts.map(part => partSource(language, part))].join('+')
}

function partSource(language: string, part: MessageFormatElement): string {
  if (part.type === TYPE.literal) return JSON.stringify(part.value)
  if (part.type === TYPE.pound) return 'n'
  const value = `c.named(${JSON.stringify(part.value)})`
  if (part.type === TYPE.argument) return value
  if (part.type === TYPE.number) return `number(${value})`
  if (part.type === TYPE.plural && part.pluralType === 'cardinal' && part.offset === 0)
    return `plural(${JSON.stringify(language)},${value},${branches(language, part.options, 'n')})`
  if (part.type === TYPE.select) return `select(${value},${branches(language, part.options, '()')})`
  throw new Error(`a message has a placeholder of a type that is not supported: ${JSON.stringify(part)}`)
}

function branches(
  language: string,
  options: Readonly<Record<string, { value: MessageFormatElement[] }>>,
  parameter: string,
): string {
  const each = Object.entries(options).map(
    ([name, { value }]) => `${JSON.stringify(name)}:${parameter}=>${expression(language, value)}`,
  )
  return `{${each.join(',')}}`
}
