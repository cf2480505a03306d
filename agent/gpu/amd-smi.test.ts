import { describe, expect, test } from 'vitest'
import { parseAmdHealth, parseAmdSmi, parseRocmSmi } from './amd-smi.ts'

const MiB = 2 ** 20

// Put together from outputs that AMD's documentation and users of ROCm 6.2 to 7.1 show; not recorded on a GPU of this project.
const LIST = JSON.stringify([
  {
    gpu: 0,
    bdf: '0000:05:00.0',
    uuid: '0eff74a1-0000-1000-80d6-4a6b20b0e7c5',
    kfd_id: 41880,
    node_id: 2,
    partition_id: 0,
  },
  {
    gpu: 1,
    bdf: '0000:C4:00.0',
    uuid: 'c0ff744c-0000-1000-8032-1a2b3c4d5e6f',
    kfd_id: 26967,
    node_id: 3,
    partition_id: 0,
  },
])
const mi300 = {
  gpu: 0,
  asic: {
    market_name: 'AMD Instinct MI300X',
    vendor_id: '0x1002',
    vendor_name: 'Advanced Micro Devices Inc. [AMD/ATI]',
    device_id: '0x74a1',
    oam_id: 3,
    num_compute_units: 304,
    target_graphics_version: 'gfx942',
  },
  bus: { bdf: '0000:05:00.0', max_pcie_width: 16, max_pcie_speed: { value: 32, unit: 'GT/s' }, slot_type: 'OAM' },
  vram: { type: 'HBM3', vendor: 'N/A', size: { value: 196592, unit: 'MB' }, bit_width: 8192 },
}
const radeon = {
  gpu: 1,
  asic: { market_name: 'Radeon RX 7900 XT', device_id: '0x744c', target_graphics_version: 'gfx1100' },
  bus: { bdf: '0000:C4:00.0', max_pcie_width: 16 },
  vram: { type: 'GDDR6', vendor: 'SAMSUNG', size: { value: 20464, unit: 'MB' } },
}
const metric = (ecc: object | string, status = 'UNTHROTTLED') => ({
  gpu: 0,
  power: { socket_power: { value: 133, unit: 'W' }, throttle_status: status },
  ecc,
})
const clean = { total_correctable_count: 2, total_uncorrectable_count: 0, total_deferred_count: 0 }

describe('amd-smi', () => {
  test.each([
    ['ROCm 6', JSON.stringify([mi300, radeon])],
    ['ROCm 7', JSON.stringify({ gpu_data: [mi300, radeon] })],
    [
      'a warning before it',
      `WARNING: User is missing the following required groups: render\n${JSON.stringify([mi300, radeon])}`,
    ],
  ])('names and sizes of GPUs, as printed by %s', (_, details) => {
    expect(parseAmdSmi({ list: LIST, details })).toEqual([
      { bus: '0000:05:00.0', model: 'AMD Instinct MI300X', memBytes: 196_592 * MiB, isPartitioned: false },
      { bus: '0000:c4:00.0', model: 'Radeon RX 7900 XT', memBytes: 20_464 * MiB, isPartitioned: false },
    ])
  })

  test('what the driver does not tell is unknown', () => {
    const details = JSON.stringify([
      { gpu: 0, asic: 'N/A', bus: 'N/A', vram: { size: 'N/A' } },
      { gpu: 1, asic: { market_name: '0x744c' }, vram: 'N/A' },
    ])
    expect(parseAmdSmi({ list: LIST, details }).map(({ model, memBytes }) => [model, memBytes])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ])
    expect(parseAmdSmi({ list: 'Traceback (most recent call last):', details: '' })).toEqual([])
  })

  test('a GPU that is divided into partitions is one, and says so', () => {
    const list = JSON.stringify([
      { gpu: 0, bdf: '0000:05:00.0', uuid: '0eff74a1-0000-1000-80d6-4a6b20b0e7c5', partition_id: 0 },
      { gpu: 1, bdf: '0000:05:00.1', uuid: '0eff74a1-0000-1000-80d6-4a6b20b0e7c5', partition_id: 1 },
    ])
    expect(parseAmdSmi({ list, details: '[]' })).toMatchObject([{ bus: '0000:05:00.0', isPartitioned: true }])
  })

  test('errors of memory, pages that wait for a reset, and slow-downs', () => {
    const texts = { list: LIST, metric: JSON.stringify({ gpu_data: [metric(clean)] }), pages: '' }
    expect(parseAmdHealth(texts).get('0000:05:00.0')).toEqual({ uncorrectable: 0, isThrottled: false })
    const bad = metric({ ...clean, total_uncorrectable_count: 3 }, 'THROTTLED')
    const pages = JSON.stringify([
      { gpu: 0, pending: [{ page_address: '0x3f12', page_size: '4096', status: 'PENDING' }] },
      { gpu: 1, pending: 'No bad pages found.' },
    ])
    expect([...parseAmdHealth({ ...texts, metric: JSON.stringify([bad]), pages })]).toEqual([
      ['0000:05:00.0', { uncorrectable: 3, isThrottled: true, hasPendingPages: true }],
      ['0000:c4:00.0', { hasPendingPages: false }],
    ])
    const unknown = JSON.stringify([
      metric('N/A', 'N/A'),
      { gpu: 1, ecc: { total_uncorrectable_count: 'N/A' }, power: 'N/A' },
    ])
    expect(parseAmdHealth({ ...texts, metric: unknown }).get('0000:c4:00.0')).toEqual({})
  })
})

test('rocm-smi, whose names of fields differ in case', () => {
  const cards = {
    card0: {
      'VRAM Total Memory (B)': '21458059264',
      'VRAM Total Used Memory (B)': '27856896',
      'PCI Bus': '0000:C9:00.0',
      'Card Series': 'Radeon RX 7900 XT',
      'Card Model': '0x744c',
    },
    card1: { 'PCI Bus': '0000:CE:00.0', 'Card series': 'AMD INSTINCT MI200 (MCM) OAM LC MBA HPE C2' },
    card2: { 'Card series': 'No address' },
    system: { 'Driver version': '6.7.0' },
  }
  expect(parseRocmSmi(`${JSON.stringify(cards)}\n`)).toEqual([
    { bus: '0000:c9:00.0', model: 'Radeon RX 7900 XT', memBytes: 21_458_059_264 },
    { bus: '0000:ce:00.0', model: 'AMD INSTINCT MI200 (MCM) OAM LC MBA HPE C2', memBytes: undefined },
  ])
  expect(parseRocmSmi('WARNING: No JSON data to report')).toEqual([])
})
