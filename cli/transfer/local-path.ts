import { isUtf8 } from 'node:buffer'
import { join } from 'node:path'
import { hasRawBytes, nameFromBytes, partsOfName } from '#base/byte-names'
import { inOneForm } from '#base/normal-forms'

/** Path of a file on this computer; bytes where it is no text. */
export type LocalPath = string | Buffer

/** Whether names of files are bytes here. Other systems know only text. */
export const NAMES_ARE_BYTES = process.platform === 'linux'

/** Path of a name in a directory. @param name as in a folder; its bytes are those of the folder where names are bytes */
export function below(directory: LocalPath, name: string): LocalPath {
  if (typeof directory === 'string' && !(NAMES_ARE_BYTES && hasRawBytes(name))) return join(directory, name)
  const bytes = partsOfName(name).map(part => (typeof part === 'number' ? Buffer.of(part) : Buffer.from(part)))
  return Buffer.concat([Buffer.from(directory), Buffer.from('/'), ...bytes])
}

/** Name of a file of this computer as in a folder. */
export const folderName = (name: Buffer): string =>
  nameFromBytes(name, part => (isUtf8(part) ? Buffer.from(part).toString() : undefined))

/** The path for messages. */
export const shownPath = (path: LocalPath): string => path.toString()

/** A byte of a name that is no text, or a percent sign that looks like one that was replaced. */
const REPLACED = /[\uef80-\uefff]|%(?=[0-9A-F]{2})/g

/**
 * Names for files of a folder where names are no bytes. Bytes that are no text become `%` and two hexadecimal digits, as in a ZIP file. A name that the
 * system takes for one before it, since it ignores the case of letters or their Unicode form, gets a number.
 */
export class LocalNames {
  readonly #taken = new Map<string, Map<string, string>>()

  /** @param directory that the name is in, the same text for the same directory @returns the same for the same name */
  take(directory: string, name: string): string {
    const taken = this.#taken.get(directory) ?? new Map<string, string>()
    this.#taken.set(directory, taken)
    const plain = hasRawBytes(name)
      ? name.replace(REPLACED, char => `%${(char.charCodeAt(0) & 0xff).toString(16).toUpperCase()}`)
      : name
    for (let number = 0; ; number++) {
      const tried = number === 0 ? plain : numbered(plain, number)
      const key = inOneForm(tried).toLowerCase()
      const owner = taken.get(key)
      if (owner !== undefined && owner !== name) continue
      taken.set(key, name)
      return tried
    }
  }
}

/** `notes.txt` → `notes (1).txt` */
function numbered(name: string, number: number): string {
  const [, stem = name, ending = ''] = /^(.+?)(\.[^.]{1,19})?$/s.exec(name) ?? []
  return `${stem} (${number})${ending}`
}
