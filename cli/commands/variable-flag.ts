import { InvalidArgumentError } from 'commander'

/** Parses `--env NAME=VALUE`, which may be repeated. */
export function collectVariable(text: string, all: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('The value must have the form NAME=VALUE.')
  return { ...all, [text.slice(0, at)]: text.slice(at + 1) }
}
