import { expect, test } from 'vitest'
import { heldNow } from './reservations.ts'

const GIB = 2 ** 30
const device = (uuid: string, occupied: number) => ({ uuid, slot: 'cuda.device' as const, total: 1, occupied })
const reserved = (uuid: string) => ({ uuid, slot: 'cuda.device' as const, amount: 1 })

test('a reservation holds what is free of it, and GPUs only on the devices that it names', () => {
  const held = heldNow(
    {
      requested: { cpu: 2000, mem: 4 * GIB, 'cuda.device': 1 },
      clusterSize: 2,
      devices: [reserved('GPU-a'), reserved('GPU-b')],
    },
    {
      capacity: { cpu: 8000, mem: 16 * GIB, 'cuda.device': 3 },
      occupied: { cpu: 7000, mem: 2 * GIB, 'cuda.device': 1 },
      devices: [device('GPU-a', 1), device('GPU-b', 0), device('GPU-c', 0)],
    },
  )
  expect(held.needed).toEqual({ cpu: 4000, mem: 8 * GIB, 'cuda.device': 2 })
  expect(held.slots).toEqual({ cpu: 1000, mem: 8 * GIB, 'cuda.device': 1 })
  expect(held.devices.map(({ uuid, free }) => [uuid, free])).toEqual([
    ['GPU-a', 0],
    ['GPU-b', 1],
  ])
})

test('an agent that holds more than it has, or is not known, holds nothing for the session', () => {
  const asked = { requested: { cpu: 1000 }, clusterSize: 1, devices: [] }
  expect(heldNow(asked, { capacity: { cpu: 1000 }, occupied: { cpu: 2000 }, devices: [] }).slots).toEqual({ cpu: 0 })
  expect(heldNow(asked, undefined).slots).toEqual({ cpu: 0 })
})
