import { type Image, meaningsOf } from '#manager/contract'

/** The image that the manager would use for this name or alias; templates and people use both. */
export function imageNamed(images: readonly Image[] | null | undefined, name: string | undefined): Image | undefined {
  if (name === undefined) return undefined
  const aliased = images?.find(({ aliases }) => aliases.includes(name))
  if (aliased) return aliased
  for (const meaning of meaningsOf(name)) {
    const found = images?.find(({ reference }) => reference === meaning)
    if (found) return found
  }
  return undefined
}
