const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** A number of bytes for people, in the largest unit of which there is one: `700 KiB`, `1.5 GiB`. */
export function sizeText(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, Math.abs(bytes))) / 10))
  return `${Math.round((bytes / 1024 ** power) * 10) / 10} ${UNITS[power] ?? 'bytes'}`
}
