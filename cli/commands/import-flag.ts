import { InvalidArgumentError } from 'commander'
import { type CodeSource, readCodeSource } from '#manager/contract'

/** The value of `--import`. @throws InvalidArgumentError for an address of something else */
export function importOption(text: string): CodeSource {
  const source = readCodeSource(text)
  if (source) return source
  throw new InvalidArgumentError(
    'It must be the https address of a Git repository, of one of its branches, or of a notebook (.ipynb), without a password.',
  )
}
