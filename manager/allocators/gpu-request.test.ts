import { expect, test } from 'vitest'
import { type Device } from '#manager/contract'
import { gpuRequest } from './gpu-request.ts'

const GIB = 2 ** 30
const gpu = (model: string, gib: number) => ({ model, memBytes: gib * GIB, mode: 'whole' }) as Device
const agent = (name: string, ...devices: Device[]) => ({ name, devices })
const [A100, H100, L4] = [gpu('NVIDIA A100-SXM4-40GB', 40), gpu('NVIDIA H100 80GB HBM3', 80), gpu('NVIDIA L4', 24)]
const AGENTS = [agent('g1', A100, A100), agent('g2', H100, H100), agent('g3', L4)]
const nodes = (...types: string[][]) => types.map((gpuTypes, at) => ({ name: `g${at + 1}`, gpuTypes }))
const TYPED = nodes(['a100', 'a100'], ['h100', 'h100'], ['l4'])

test('a model is asked for as the type that Slurm has for it', () => {
  expect(gpuRequest({ gpu: { model: 'H100' } }, TYPED, AGENTS)).toEqual({ gpuType: 'h100', exclude: [] })
  expect(gpuRequest({ gpu: { memory: '60g' } }, TYPED, AGENTS)).toEqual({ gpuType: 'h100', exclude: [] })
})

test('a choice of several types, or where GPUs have no types, excludes the nodes that will not do', () => {
  expect(gpuRequest({ gpu: { memory: '30g' } }, TYPED, AGENTS)).toEqual({ exclude: ['g3'] })
  expect(gpuRequest({ gpu: { model: 'H100' } }, nodes([], [], []), AGENTS)).toEqual({ exclude: ['g1', 'g3'] })
})

test('a type that names several models is not enough', () => {
  const same = nodes(['gpu', 'gpu'], ['gpu', 'gpu'], ['gpu'])
  expect(gpuRequest({ gpu: { model: 'H100' } }, same, AGENTS)).toEqual({ exclude: ['g1', 'g3'] })
})

test('a node with GPUs of two models will do where they have types, and not where they have none', () => {
  const mixed = [agent('g1', A100, H100)]
  expect(gpuRequest({ gpu: { model: 'H100' } }, nodes(['a100', 'h100']), mixed)).toEqual({
    gpuType: 'h100',
    exclude: [],
  })
  expect(gpuRequest({ gpu: { model: 'H100' } }, nodes([]), mixed)).toBeUndefined()
})

test('a model that no host has cannot be asked for', () => {
  expect(gpuRequest({ gpu: { model: 'B200' } }, TYPED, AGENTS)).toBeUndefined()
  expect(gpuRequest({ gpu: { model: 'H100' } }, TYPED, [agent('g9', H100)])).toBeUndefined()
})
