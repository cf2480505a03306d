/** Sum of numbers of which some may be unknown (null); null for no parts, and as soon as one is unknown, which is not 0. */
export function sumKnown(parts: readonly (number | null)[]): number | null {
  if (parts.length === 0) return null
  return parts.reduce<number | null>((sum, part) => (sum === null || part === null ? null : sum + part), 0)
}
