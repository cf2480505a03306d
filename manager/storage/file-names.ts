import { isUtf8 } from 'node:buffer'
import { nameFromBytes, partsOfName } from '#base/byte-names'
import { AppError, because } from '#manager/contract'

/** Limit of file systems, in bytes. */
const LONGEST_NAME = 255
/** Name of a file as text. @see base/byte-names.ts */
export const nameOf = (bytes: Buffer): string =>
  nameFromBytes(bytes, part =>
    isUtf8(part) ? Buffer.from(part.buffer, part.byteOffset, part.length).toString('utf8') : undefined,
  )

/** Bytes of one component of a path. @throws AppError `path_invalid` */
export function bytesOf(name: string): Buffer {
  const bytes = toBytes(name)
  if (bytes && bytes.length <= LONGEST_NAME && name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name))
    return bytes
  throw new AppError('path_invalid', because('file_name_rule'))
}

function toBytes(name: string): Buffer | undefined {
  if (!name.isWellFormed()) return undefined
  return Buffer.concat(partsOfName(name).map(part => (typeof part === 'number' ? Buffer.of(part) : Buffer.from(part))))
}

/** Components of a path relative to a folder; none for the folder itself, `''`. @throws AppError `path_invalid` */
export function componentsOf(path: string): string[] {
  if (path === '') return []
  const names = path.split('/')
  names.forEach(bytesOf)
  return names
}
