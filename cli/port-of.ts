/** Port of an address; URLs leave out the one that their scheme has by default. */
export function portOf(url: string): number {
  const { port, protocol } = new URL(url)
  return Number(port || (protocol === 'https:' ? 443 : 80))
}
