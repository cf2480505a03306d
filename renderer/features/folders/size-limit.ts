const GIB = 2 ** 30
const SMALLEST = 2 ** 20
const LARGEST = 2 ** 50

/** Parses a typed number of GiB to bytes; null for an empty field, undefined for an invalid text. */
export function sizeLimitOf(text: string): number | null | undefined {
  const plain = text.trim().replace(',', '.')
  if (plain === '') return null
  if (!/^\d{1,7}(\.\d{1,6})?$/.test(plain)) return undefined
  const bytes = Math.round(Number(plain) * GIB)
  return bytes >= SMALLEST && bytes <= LARGEST ? bytes : undefined
}

/** Formats a limit so that `sizeLimitOf` can parse it. */
export const sizeLimitText = (bytes: number | null): string =>
  bytes === null ? '' : String(Number((bytes / GIB).toFixed(6)))
