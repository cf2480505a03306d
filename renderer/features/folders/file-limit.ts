const MOST = 1_000_000_000

/** Parses a typed number of files, with or without commas; null for an empty field, undefined for an invalid text. */
export function fileLimitOf(text: string): number | null | undefined {
  const plain = text.trim().replace(/(?<=\d)[, ](?=\d{3}\b)/g, '')
  if (plain === '') return null
  const files = /^\d{1,10}$/.test(plain) ? Number(plain) : 0
  return files >= 1 && files <= MOST ? files : undefined
}
