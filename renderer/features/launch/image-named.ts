import { type Image } from '#manager/contract'

/** The image with this name or alias; templates may hold either. */
export function imageNamed(images: readonly Image[] | null | undefined, name: string | undefined): Image | undefined {
  if (name === undefined) return undefined
  return images?.find(({ reference, aliases }) => reference === name || aliases.includes(name))
}
