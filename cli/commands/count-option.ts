import { InvalidArgumentError } from 'commander'

/** Parses the value of an option that takes a number of things. */
export function parseCount(text: string): number {
  const count = Number(text)
  if (!Number.isSafeInteger(count) || count < 1)
    throw new InvalidArgumentError('The value must be a whole number of 1 or more.')
  return count
}
