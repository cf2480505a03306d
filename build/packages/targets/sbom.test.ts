import { expect, test } from 'vitest'
import { lockedPackages } from '../locked-packages.ts'
import { MANIFEST } from '../manifest.ts'
import { billOfMaterials } from './sbom.ts'

interface Bill {
  metadata: { timestamp: string }
  components: { 'bom-ref': string; name: string; purl: string; hashes: { content: string }[] }[]
}

test('the bill of materials names every dependency once, with its hash, and nothing of the tools', () => {
  const { components, metadata } = JSON.parse(billOfMaterials(lockedPackages(), 0)) as Bill
  const names = components.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(Object.keys(MANIFEST.dependencies)))
  expect(names).toContain(`node-linux-${process.arch}`)
  expect(names).not.toContain('vitest')
  expect(new Set(components.map(one => one['bom-ref'])).size).toBe(components.length)
  expect(components.filter(({ hashes }) => !/^[0-9a-f]{128}$/.test(hashes[0]?.content ?? ''))).toEqual([])
  expect(components.find(({ name }) => name === '@fastify/swagger')?.purl).toMatch(/^pkg:npm\/%40fastify\/swagger@\d/)
  expect(metadata.timestamp).toBe('1970-01-01T00:00:00.000Z')
})
