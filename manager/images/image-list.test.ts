import { expect, test } from 'vitest'
import { type Image, IMAGE_ORDERS } from '#manager/contract'
import { searchImages, sortImages } from './image-list.ts'

const image = (reference: string, more: Partial<Image> = {}) => ({
  ...{ reference, aliases: [], title: '', registry: null, apps: [], sizeBytes: 1, holders: 0 },
  ...more,
})
const IMAGES = [
  image('lab/torch:10', { title: 'PyTorch', holders: 2, sizeBytes: 7 }),
  image('lab/torch:9', { title: 'PyTorch', holders: 2, aliases: ['nine'] }),
  image('cr.example.org/R:4', { title: 'r 4', registry: 'cr.example.org', sizeBytes: 9 }),
]
const names = (images: readonly { readonly reference: string }[]) => images.map(({ reference }) => reference)

test('a search finds every word in some text of an image, in any letter case', () => {
  const app = { name: 'jupyter', title: 'JupyterLab', protocol: 'http', path: '/' } as const
  const all = [...IMAGES, image('lab/notebook:1', { apps: [app] })]
  const find = (search: string) => names(searchImages(all, search))
  expect(find('TORCH lab/')).toEqual(['lab/torch:10', 'lab/torch:9'])
  expect(find('nine')).toEqual(['lab/torch:9'])
  expect(find('example.org')).toEqual(['cr.example.org/R:4'])
  expect(find('jupyterlab')).toEqual(['lab/notebook:1'])
  expect(find('torch jupyterlab')).toEqual([])
  expect(find(' ')).toHaveLength(4)
})

test('each order is total: numbers in names count as numbers, and equal values are in the order of the names', () => {
  const [ten = '', nine = '', r = ''] = names(IMAGES)
  const expected = {
    reference: [r, nine, ten],
    title: [nine, ten, r],
    size: [nine, ten, r],
    agents: [r, nine, ten],
    registry: [nine, ten, r],
  }
  for (const order of IMAGE_ORDERS) {
    expect(names(sortImages(IMAGES, order))).toEqual(expected[order])
    expect(names(sortImages(IMAGES.toReversed(), `-${order}`))).toEqual(expected[order].toReversed())
  }
  expect(sortImages(IMAGES, undefined)).toBe(IMAGES)
})
