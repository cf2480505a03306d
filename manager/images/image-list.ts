import { type Image, type ImageOrder, type ImageSort, readSort } from '#manager/contract'

type Listed = Pick<Image, 'reference' | 'aliases' | 'title' | 'registry' | 'apps' | 'sizeBytes' | 'holders'>

const VALUES: Readonly<Record<ImageOrder, (image: Listed) => string | number>> = {
  reference: ({ reference }) => reference,
  title: ({ title }) => title,
  size: ({ sizeBytes }) => sizeBytes,
  agents: ({ holders }) => holders,
  registry: ({ registry }) => registry ?? '',
}

const { compare } = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })
const compareValues = (a: string | number, b: string | number) =>
  typeof a === 'number' && typeof b === 'number' ? a - b : compare(String(a), String(b))

/**
 * Images whose name, aliases, title, registry or apps contain every word of the search, in any letter case. Pure. SQL cannot search,
 * because images are put together in memory from reports of agents and registries (`toImages`).
 */
export function searchImages<T extends Listed>(images: readonly T[], search = ''): readonly T[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return images
  return images.filter(({ reference, aliases, title, registry, apps }) => {
    const texts = [reference, ...aliases, title, registry ?? '', ...apps.map(app => app.title)]
    const text = texts.join('\n').toLowerCase()
    return words.every(word => text.includes(word))
  })
}

/** Sorts images by an order, and by name if values are equal. Without an order they stay as they are. Pure. */
export function sortImages<T extends Listed>(images: readonly T[], sort: ImageSort | undefined): readonly T[] {
  if (sort === undefined) return images
  const { order, descending } = readSort(sort)
  const valueOf = VALUES[order]
  const sign = descending ? -1 : 1
  return images.toSorted(
    (a, b) => sign * (compareValues(valueOf(a), valueOf(b)) || compareValues(a.reference, b.reference)),
  )
}
