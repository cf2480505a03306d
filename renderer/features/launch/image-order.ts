import { type Image } from '#manager/contract'
import { imageText } from '../../data/sessions/session-text.ts'

/**
 * Order in which images are offered; the first is preselected for a first session. Images made for Berth come first, then those with the
 * most apps, then smaller ones, on which the others are built, then by name: adding an image must not change the preselection.
 */
export const byUse = (a: Image, b: Image): number =>
  Number(b.labelled) - Number(a.labelled) ||
  b.apps.length - a.apps.length ||
  a.sizeBytes - b.sizeBytes ||
  a.reference.localeCompare(b.reference)

/** The title of an image, with its name if others have the same title. */
export function titleAmong(images: readonly Image[], { title, reference }: Image): string {
  const name = imageText(reference)
  if (title === '' || title === name) return name
  const isOnly = images.every(other => other.reference === reference || other.title !== title)
  return isOnly ? title : `${title} (${name})`
}
