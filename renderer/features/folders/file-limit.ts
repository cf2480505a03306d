const MOST = 1_000_000_000

/** A number of files as typed, thousands also with commas; null for an empty field, undefined if it is no such number. */
export function fileLimitOf(text: string): number | null | undefined {
  const plain = text.trim().replace(/(?<=\d)[, ](?=\d{3}\b)/g, '')
  if (plain === '') return null
  const files = /^\d{1,10}$/.test(plain) ? Number(plain) : 0
  return files >= 1 && files <= MOST ? files : undefined
}
