import { expect, test } from 'vitest'
import { type Image } from '#manager/contract'
import { imageNamed } from './image-named.ts'

const image = (reference: string, aliases: string[] = []) => ({ reference, aliases }) as unknown as Image
const IMAGES = [image('berth/python:3.13', ['py']), image('debian:latest'), image('cr.example.org/lab/torch:2.9')]
const named = (name: string) => imageNamed(IMAGES, name)?.reference

test.each([
  ['berth/python:3.13', 'berth/python:3.13'],
  ['py', 'berth/python:3.13'],
  ['docker.io/berth/python:3.13', 'berth/python:3.13'],
  ['debian', 'debian:latest'],
  ['docker.io/library/debian', 'debian:latest'],
  ['cr.example.org/lab/torch:2.9', 'cr.example.org/lab/torch:2.9'],
])('the name %s means %s', (name, reference) => {
  expect(named(name)).toBe(reference)
})

test.each(['', 'python', 'berth/python', 'lab/torch:2.9', 'example.com/debian'])('no image is named %s', name => {
  expect(named(name)).toBeUndefined()
})
