import { type Image } from '#manager/contract'

/**
 * Order in which images are offered; the first one is chosen for a first session: those made for Berth, with the most apps, and of
 * equals the smallest, on which the others are built.
 */
export const byUse = (a: Image, b: Image): number =>
  Number(b.labelled) - Number(a.labelled) || b.apps.length - a.apps.length || a.sizeBytes - b.sizeBytes
