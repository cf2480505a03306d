/** A text as a value in a filter. @see RFC 4515, section 3 */
export function inFilter(text: string): string {
  return text.replace(/[\\*()\u0000]/g, char => `\\${char.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

/** A text as a value in a distinguished name. @see RFC 4514, section 2.4 */
export function inName(text: string): string {
  return text
    .replace(/[\\,+"<>;=#]/g, char => `\\${char}`)
    .replace(/\u0000/g, '\\00')
    .replace(/^ | $/g, '\\ ')
}

/** Replaces names in braces by values, in one pass, so that a value with braces is not replaced again. */
export function filled(
  template: string,
  values: Readonly<Record<string, string>>,
  escape: (text: string) => string,
): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    return value === undefined ? whole : escape(value)
  })
}

/**
 * A distinguished name in a form to compare by: small letters, no spaces around `,`, `+` and `=`. Two names that are equal by RFC 4517 may
 * still differ here (other escapes): such a group gives nothing, which is the safe side.
 */
export function comparableName(name: string): string {
  return name
    .trim()
    .replace(/(?<!\\)\s*([,+=])\s*/g, '$1')
    .toLowerCase()
}
