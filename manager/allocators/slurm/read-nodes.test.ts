import { expect, test } from 'vitest'
import { readNodes } from './read-nodes.ts'

test.each([
  ['gpu:a100:2(S:0-1)', ['a100', 'a100']],
  ['gpu:a100:1,gpu:h100:2,shard:8', ['a100', 'h100', 'h100']],
  ['gpu:4', []],
  ['gpu:a100:1,gpu:2', []],
  ['(null)', []],
])('types of GPUs of a node: %s', (gres, gpuTypes) => {
  const line = `NodeName=g1.lab Arch=x86_64 CPUAlloc=0 AvailableFeatures=a100 Gres=${gres} NodeAddr=g1`
  expect(readNodes(`${line}\nNodeName=c1 CPUAlloc=0\n`)).toEqual([
    { name: 'g1.lab', gpuTypes },
    { name: 'c1', gpuTypes: [] },
  ])
})
