import { inOneForm } from '#base/normal-forms'
import { isNameOfDevice } from '#base/windows-names'

/**
 * A byte of a name that is not valid UTF-8, a control character, a mark that changes the writing direction, a character that Windows does
 * not take, a point or blank at the end, which Windows leaves out, or text that looks escaped.
 */
const ESCAPED =
  /[\uef80-\uefff\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\\:*?"<>|]|[. ]$|%(?=[0-9A-Fa-f]{2})/g

/**
 * Makes a file name for an archive that no program mistakes for a path outside of it (on Windows `\` is a separator and `C:` a disk), and
 * that is valid everywhere, also where Windows would take it for a device. Different names stay different: each replaced byte becomes `%` and two hexadecimal digits, as in URLs. So a
 * folder with names in CP949 keeps all its files.
 */
export function archivedName(name: string): string {
  const escaped = name.replace(ESCAPED, escapedText)
  return isNameOfDevice(name) ? escapedText(escaped.charAt(0)) + escaped.slice(1) : escaped
}

/** Names of one directory in an archive. Also names that Windows or macOS takes for each other, by the case of letters or the Unicode form, stay apart. */
export class ArchivedNames {
  readonly #first = new Map<string, string>()

  /** @returns the same for the same name */
  take(name: string): string {
    const key = inOneForm(name).toLowerCase()
    const first = this.#first.get(key) ?? name
    this.#first.set(key, first)
    return first === name ? archivedName(name) : escapedWhereDifferent(name, first)
  }
}

/**
 * Paths in an archive. Entries are taken depth first, as a walk finds them, so that only the names of directories on the way to the last one are
 * kept.
 */
export class ArchivedPaths {
  readonly #levels: { readonly directory: string; readonly names: ArchivedNames }[] = []

  /** @param path as in the folder, with the name of the archive's top directory in front @returns the same for the same path */
  of(path: string): string {
    const parts = path.split('/')
    const archived = parts.map((name, level) => this.#namesOf(level, parts.slice(0, level).join('/')).take(name))
    return archived.join('/')
  }

  #namesOf(level: number, directory: string): ArchivedNames {
    const known = this.#levels[level]
    if (known?.directory === directory) return known.names
    const names = new ArchivedNames()
    this.#levels.splice(level, this.#levels.length, { directory, names })
    return names
  }
}

/** The name with each byte escaped from the first to the last character that is another one in its twin. */
function escapedWhereDifferent(name: string, twin: string): string {
  const [characters, others] = [Array.from(name), Array.from(twin)]
  const length = Math.min(characters.length, others.length)
  let start = 0
  while (start < length && characters[start] === others[start]) start++
  let ending = 0
  while (ending < length - start && characters.at(-1 - ending) === others.at(-1 - ending)) ending++
  const end = characters.length - ending
  const different = characters.slice(start, end).map(escapedText).join('')
  return archivedName(characters.slice(0, start).join('')) + different + archivedName(characters.slice(end).join(''))
}

function escapedText(character: string): string {
  const code = character.charCodeAt(0)
  if (code >= 0xef80 && code <= 0xefff) return percent(code & 0xff)
  return code < 0x80 ? percent(code) : encodeURIComponent(character)
}

const percent = (byte: number) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
