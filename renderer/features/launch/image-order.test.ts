import { expect, test } from 'vitest'
import { type Image } from '#manager/contract'
import { byUse, titleAmong } from './image-order.ts'

const image = (reference: string, title: string, change: Partial<Image> = {}): Image =>
  ({ reference, title, labelled: true, apps: [], sizeBytes: 1, ...change }) as Image

test('images of the same title are told apart by their names', () => {
  const images = [
    image('berth/python:3.13', 'Python'),
    image('registry.example.org/lab/py:1', 'Python'),
    image('r:4', 'R'),
  ]
  expect(images.map(one => titleAmong(images, one))).toEqual(['Python (berth/python:3.13)', 'Python (lab/py:1)', 'R'])
  expect(titleAmong(images, image('debian:13', ''))).toBe('debian:13')
})

test('an image that is like the first one does not take its place by coming first', () => {
  const [a, b] = [image('a:1', 'Python'), image('b:1', 'Python')]
  expect([b, a].toSorted(byUse)).toEqual([a, b])
  expect([a, image('b:2', '', { labelled: false })].toSorted(byUse)[0]).toBe(a)
})
