const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** A number of bytes for people, in the largest unit of which there is one: `700 KiB`, `1.5 GiB`. */
export function sizeText(bytes: number): string {
  const inUnit = (power: number) => Math.round((bytes / 1024 ** power) * 10) / 10
  let power = 0
  // The rounded figure decides the unit: 1,048,575 bytes are 1 MiB, not 1024 KiB.
  while (power < UNITS.length - 1 && Math.abs(inUnit(power)) >= 1024) power++
  const unit = bytes === 1 ? 'byte' : UNITS[power]
  return `${inUnit(power)} ${unit ?? 'bytes'}`
}
