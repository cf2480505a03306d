import { describe, expect, test } from 'vitest'
import { choiceText } from './gpu-choice-text.ts'
import { GpuChoice } from './gpu-choice.ts'
import { type GpuKind, isChosen, isGpuChoice, namesModel } from './gpu-match.ts'

const MIB = 2 ** 20
const gpu = (model: string, mib = 0): GpuKind => ({ model, memBytes: mib * MIB, isMig: false })
const mig = (model: string, mib = 0): GpuKind => ({ ...gpu(model, mib), isMig: true })

const H100 = gpu('NVIDIA H100 80GB HBM3', 81_559)
const SLICE = mig('NVIDIA H100 80GB HBM3 3g.40gb', 40_448)

describe('the model of a GPU', () => {
  test.each([
    ['H100', 'NVIDIA H100 80GB HBM3', true],
    ['h100', 'NVIDIA H100 80GB HBM3', true],
    ['H100 80GB', 'NVIDIA H100 80GB HBM3', true],
    ['H100-80GB', 'NVIDIA H100 80GB HBM3', true],
    ['A100', 'NVIDIA A100-SXM4-40GB', true],
    ['A100 40gb', 'NVIDIA A100-SXM4-40GB', true],
    ['A100 80gb', 'NVIDIA A100-SXM4-40GB', false],
    ['A100', 'NVIDIA RTX A1000', false],
    ['A10', 'NVIDIA A100-SXM4-40GB', false],
    ['H100', 'NVIDIA H1000', false],
    ['H', 'NVIDIA H100 80GB HBM3', false],
    ['T4', 'Tesla T4', true],
    ['RTX 4090', 'NVIDIA GeForce RTX 4090', true],
    ['RTX4090', 'NVIDIA GeForce RTX 4090', true],
    ['RTX 3080', 'NVIDIA GeForce RTX 3080 Ti', true],
    ['NVIDIA GeForce RTX 3080', 'NVIDIA GeForce RTX 3080 Ti', false],
    ['NVIDIA GeForce RTX 3080', 'NVIDIA GeForce RTX 3080', true],
    ['NVIDIA H100', 'NVIDIA H100 80GB HBM3', false],
  ])('%s in %s: %s', (wanted, model, is) => {
    expect(namesModel(wanted, model)).toBe(is)
  })

  test('a MIG instance is no model; it is chosen by its profile, and then also by its model', () => {
    expect(isChosen({ model: 'H100' }, H100)).toBe(true)
    expect(isChosen({ model: 'H100' }, SLICE)).toBe(false)
    expect(isChosen({ migProfile: '3G.40GB' }, SLICE)).toBe(true)
    expect(isChosen({ migProfile: '3g.40gb' }, H100)).toBe(false)
    expect(isChosen({ migProfile: '3g.20gb' }, SLICE)).toBe(false)
    expect(isChosen({ migProfile: '3g.40gb', model: 'h100' }, SLICE)).toBe(true)
    expect(isChosen({ migProfile: '3g.40gb', model: 'A100' }, SLICE)).toBe(false)
    expect(isChosen({ migProfile: '3g.40gb', model: '3g' }, SLICE)).toBe(false)
  })
})

describe('the least memory', () => {
  test('whole GiB count, rounded up, because drivers report less than GPUs are sold with', () => {
    expect(isChosen({ memory: '80g' }, H100)).toBe(true)
    expect(isChosen({ memory: '81g' }, H100)).toBe(false)
    expect(isChosen({ memory: '24g' }, gpu('NVIDIA GeForce RTX 4090', 24_564))).toBe(true)
    expect(isChosen({ memory: '40g' }, SLICE)).toBe(true)
    expect(isChosen({ memory: '41g' }, SLICE)).toBe(false)
  })

  test('a GPU of unknown memory has not enough', () => {
    expect(isChosen({ memory: '1m' }, gpu('NVIDIA GPU'))).toBe(false)
  })
})

test('a choice names something, in forms that can be understood', () => {
  const read = (choice: unknown) => GpuChoice.safeParse(choice).success
  expect([{ model: 'H100' }, { memory: '40g' }, { migProfile: '1g.10gb+me' }].map(read)).toEqual([true, true, true])
  const bad = [
    {},
    { model: '' },
    { model: '--' },
    { model: 'H100\u001B[31m' },
    { model: 'H'.repeat(201) },
    { memory: '0' },
    { memory: 'much' },
    { migProfile: 'half' },
    { models: 'H100' },
  ]
  expect(bad.map(read)).toEqual(bad.map(() => false))
})

test('a choice is told in a few characters', () => {
  expect(choiceText({ model: 'H100', memory: '40g' })).toBe('H100, ≥ 40 GiB')
  expect(choiceText({ migProfile: '3g.20gb' })).toBe('MIG 3g.20gb')
  expect(choiceText({ memory: '512m' })).toBe('≥ 0.5 GiB')
})

const TEXTS = [
  'H100',
  ' ',
  'a\u0007b',
  'x'.repeat(201),
  '40g',
  '0',
  '3g.20gb',
  '1g.10gb+me',
  '3g',
  `1g.1gb+${'a'.repeat(40)}`,
]
test.each([
  ...TEXTS.flatMap(text => [{ model: text }, { memory: text }, { migProfile: text }]),
  ...[null, 'H100', {}, { model: 1 }, { other: 'H100' }, { model: 'H100', memory: '40g', migProfile: '3g.20gb' }],
])('without a schema, %j is a choice where the schema says so', value => {
  expect(isGpuChoice(value)).toBe(GpuChoice.safeParse(value).success)
})
