import { InvalidArgumentError } from 'commander'

const UNITS = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 } as const

/** Parses a size with a unit of 1,024, e.g. `20g`, to bytes. */
export function sizeOption(text: string): number {
  const [, digits = '', unit = ''] = /^(\d+(?:\.\d+)?)([kmgt]?)(?:i?b)?$/i.exec(text) ?? []
  const bytes = Math.round(Number(digits) * UNITS[unit.toLowerCase() as keyof typeof UNITS])
  if (digits !== '' && Number.isSafeInteger(bytes) && bytes > 0) return bytes
  throw new InvalidArgumentError('Give a size like 500m, 20g or 1.5t.')
}
