import { isUtf8 } from 'node:buffer'
import { AppError, because } from '#manager/contract'

/** Limit of file systems, in bytes. */
const LONGEST_NAME = 255
/** A byte of 0x80 and above that is no part of valid UTF-8 is written as U+EF00 plus the byte. */
const ESCAPE = 0xef00
const ESCAPED = /[\uef80-\uefff]/
const ESCAPED_ALL = /([\uef80-\uefff])/

/**
 * Name of a file as text. A name is any bytes except `/` and NUL. Bytes that are not valid UTF-8 are written as private-use
 * characters (U+EF80 to U+EFFF), and so are the bytes of these characters themselves: each name has a text of its own, which
 * `bytesOf` turns back into the same bytes.
 */
export function nameOf(bytes: Buffer): string {
  if (isUtf8(bytes)) {
    const text = bytes.toString('utf8')
    if (!ESCAPED.test(text)) return text
  }
  let text = ''
  for (let at = 0; at < bytes.length;) {
    const part = bytes.subarray(at, at + lengthOf(bytes[at] ?? 0))
    const char = isUtf8(part) ? part.toString('utf8') : ''
    if (char !== '' && !ESCAPED.test(char)) {
      text += char
      at += part.length
    } else {
      text += String.fromCharCode(ESCAPE + (bytes[at] ?? 0))
      at++
    }
  }
  return text
}

/** Length of the UTF-8 sequence that begins with this byte. */
function lengthOf(lead: number): number {
  return lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
}

/** Bytes of one component of a path. @throws AppError `path_invalid` */
export function bytesOf(name: string): Buffer {
  const bytes = toBytes(name)
  if (bytes && bytes.length <= LONGEST_NAME && name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name))
    return bytes
  throw new AppError('path_invalid', because('file_name_rule'))
}

function toBytes(name: string): Buffer | undefined {
  if (!name.isWellFormed()) return undefined
  if (!ESCAPED.test(name)) return Buffer.from(name)
  return Buffer.concat(
    name
      .split(ESCAPED_ALL)
      .map(part => (ESCAPED.test(part) ? Buffer.of(part.charCodeAt(0) - ESCAPE) : Buffer.from(part))),
  )
}

/** Components of a path relative to a folder; none for the folder itself, `''`. @throws AppError `path_invalid` */
export function componentsOf(path: string): string[] {
  if (path === '') return []
  const names = path.split('/')
  names.forEach(bytesOf)
  return names
}
