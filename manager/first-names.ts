/** The first three names, with an ellipsis if there are more, for texts that need not name all. */
export function firstNames(names: readonly string[]): string {
  return names.length > 3 ? `${names.slice(0, 3).join(', ')}, …` : names.join(', ')
}
