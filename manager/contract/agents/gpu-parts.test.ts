import { expect, test } from 'vitest'
import { GPU_PARTS, gpusText, isOfModel, partsHeld, partsOfDevice } from './gpu-parts.ts'

const whole = (model: string) => ({ model, isMig: false })
const mig = (model: string) => ({ model, isMig: true })

test.each([
  [whole('NVIDIA H100 80GB HBM3'), '1'],
  [mig('NVIDIA H100 80GB HBM3 3g.40gb'), '0.43'],
  [mig('NVIDIA H100 80GB HBM3 1g.10gb+me'), '0.15'],
  [mig('NVIDIA H100 80GB HBM3 7g.80gb'), '1'],
  // A compute instance counts its own slices: two of the same GPU instance add up to it.
  [mig('NVIDIA A100-SXM4-80GB 1c.3g.40gb'), '0.15'],
  [mig('NVIDIA A30 2g.12gb'), '0.5'],
  [mig('NVIDIA RTX PRO 6000 Blackwell Server Edition 1g.24gb'), '0.25'],
])('%o is %s of a GPU', (kind, gpus) => expect(gpusText(partsOfDevice(kind))).toBe(gpus))

test('the instances and the shares of one GPU add up to it exactly', () => {
  const slice = mig('NVIDIA H200 1g.18gb')
  expect(7 * partsOfDevice(slice)).toBe(GPU_PARTS)
  const shared = whole('Tesla T4')
  expect(partsHeld(shared, 'cuda.shares', 33) + partsHeld(shared, 'cuda.shares', 67)).toBe(GPU_PARTS)
})

test('a MIG instance is of the model of its GPU, by words and by the whole name', () => {
  const slice = mig('NVIDIA H100 80GB HBM3 3g.40gb')
  expect(['H100', 'h100 80gb', 'NVIDIA H100 80GB HBM3'].every(model => isOfModel(model, slice))).toBe(true)
  expect(['H10', 'A100', '3g', 'NVIDIA H100'].some(model => isOfModel(model, slice))).toBe(false)
})
