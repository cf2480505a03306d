import { InvalidArgumentError } from 'commander'
import { parseDuration } from '#base/duration'

/** Parses a duration option, e.g. `--max-lifetime 8h`. @returns seconds @throws InvalidArgumentError */
export function durationOption(text: string): number {
  const seconds = parseDuration(text)
  if (seconds === undefined) throw new InvalidArgumentError('The value must be a time such as 90m, 8h or 1h30m.')
  return seconds
}
