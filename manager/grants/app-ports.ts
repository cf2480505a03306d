import { type AppsAddress } from '#manager/contract'

/**
 * Chooses the port of an app: the wanted one if it is free, else any.
 *
 * @returns null where apps are at names; undefined if no port is left
 */
export function choosePort(
  address: AppsAddress,
  taken: ReadonlySet<number>,
  wanted: number | undefined,
): number | null | undefined {
  if (address.kind !== 'ports') return null
  const { first, last } = address
  const free = Array.from({ length: last - first + 1 }, (_, index) => first + index).filter(port => !taken.has(port))
  if (wanted !== undefined && free.includes(wanted)) return wanted
  return free[Math.floor(Math.random() * free.length)]
}
