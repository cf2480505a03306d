import { expect, test } from 'vitest'
import { isToolbox } from './toolbox.ts'

const ours = { 'berth.recipe': '766799d3720e', 'berth.title': 'Toolbox' }

test.each<[string, string, Record<string, string>, boolean]>([
  ['the toolbox', 'berth/toolbox:latest', ours, true],
  ['the toolbox under its fingerprint', 'berth/toolbox:766799d3720e', ours, true],
  ['the toolbox in a registry', 'cr.example.org/berth/toolbox:3', ours, true],
  ['another version under this fingerprint', 'berth/toolbox:0123456789ab', ours, false],
  ['an image with the name alone', 'berth/toolbox:latest', {}, false],
  ['an image of another recipe', 'berth/toolbox:latest', { ...ours, 'berth.title': 'Session image' }, false],
])('%s', (_what, reference, labels, expected) => {
  expect(isToolbox(reference, labels)).toBe(expected)
})
